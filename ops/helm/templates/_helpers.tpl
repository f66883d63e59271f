{{- define "bankql.labels" -}}
app.kubernetes.io/name: bankql
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "bankql.selector" -}}
app.kubernetes.io/name: bankql
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
