import { limit } from '../contenders.ts';
import type { Measured } from '../sections/interleave.ts';
import { type Shape, titleOf } from '../shapes.ts';
import { ratio } from './markdown.ts';
import { ratioOf } from './statistics.ts';

const labelWidth = 236;
const barWidth = 180;
const panelWidth = labelWidth + barWidth + 60;
const rowHeight = 22;
const headHeight = 34;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Requests a second as a part of the limit's: a bar for each contender, a panel for each shape. */
export function chartOf(measured: readonly Measured[]): string {
  const shapes = [...new Set(measured.map(({ shape }) => shape))];
  const count = new Set(measured.map(({ contender }) => contender)).size;
  const panelHeight = headHeight + count * rowHeight + 20;
  const height = Math.ceil(shapes.length / 2) * panelHeight;
  const panels = shapes.map((shape, index) => {
    const [x, y] = [(index % 2) * panelWidth, Math.floor(index / 2) * panelHeight];
    return `<g transform="translate(${x} ${y})">${panel(measured, shape)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * panelWidth} ${height}" role="img" aria-label="Requests a second, the limit = 1">
<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; }
  .bar { fill: #8c959f; }
  .bankql { fill: #0969da; }
  .limit { stroke: #8c959f; stroke-dasharray: 3 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #d1d7e0; }
    .bar { fill: #6e7681; }
    .bankql { fill: #4493f8; }
  }
</style>
${panels.join('\n')}
</svg>
`;
}

function panel(measured: readonly Measured[], shape: Shape): string {
  const ofShape = measured.filter((each) => each.shape === shape);
  const theLimit = ofShape.find(({ contender }) => contender === limit);
  const bars = ofShape.map((each) => ({
    title: each.contender.title,
    name: each.contender.name,
    value: ratioOf(each, theLimit)?.median ?? null,
  }));
  const scale = barWidth / Math.max(1, ...bars.map(({ value }) => value ?? 0));
  const rows = bars.map(({ title, name, value }, index) => {
    const y = headHeight + index * rowHeight;
    const width = ((value ?? 0) * scale).toFixed(1);
    return [
      `<text x="${labelWidth - 8}" y="${y + 13}" text-anchor="end">${escaped(title)}</text>`,
      `<rect class="${name === 'bankql' ? 'bankql' : 'bar'}" x="${labelWidth}" y="${y}" width="${width}" height="${rowHeight - 6}"/>`,
      `<text x="${labelWidth + Number(width) + 6}" y="${y + 13}">${value === null ? 'not run' : ratio(value)}</text>`,
    ].join('');
  });
  const line = `<line class="limit" x1="${labelWidth + scale}" x2="${labelWidth + scale}" y1="${headHeight - 6}" y2="${headHeight + bars.length * rowHeight}"/>`;
  return `<text class="title" x="${labelWidth}" y="18">${escaped(titleOf(shape))}</text>${line}\n${rows.join('\n')}`;
}
