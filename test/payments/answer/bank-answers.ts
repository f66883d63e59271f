/**
 * Answers to payments, from banks and from gateways in front of them, in the forms that the documentation of real payment APIs
 * shows. Each has what truly happened to the payment: `executed`, `refused` (not executed, and it will not be) or `unknowable`
 * (pending, accepted, or the answer does not say). An answer with `!` is clear in words and members that bankql understands,
 * so it means DONE or REJECTED; any other is UNKNOWN. With `put`, it answers putTransactionsRequestAccount, otherwise
 * postMakeTransaction. The payment: 5.00 EUR to account x at BK1, with the description Rent.
 */
const answersByApi: Readonly<Record<string, string>> = {
  'Open Bank Project, transaction requests (v1.4 to v5)': `
put executed! 200 {"transaction-requests":[{"id":"4050046c-63b3-4868-8a22-14b4181d33a6","type":"SANDBOX_TAN","from":{"bank_id":"BK0","account_id":"payer"},"body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":"5.00"},"description":"Rent"},"transaction_ids":"902ba3bb-dedd-45e7-9319-2fd3f2cd98a1","status":"COMPLETED","start_date":"2026-01-15T09:59:59Z","end_date":"2026-01-15T09:59:59Z","challenge":null}]}
put unknowable 200 {"transaction-requests":[{"id":"4050046c-63b3-4868-8a22-14b4181d33a6","type":"SANDBOX_TAN","from":{"bank_id":"BK0","account_id":"payer"},"body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":"5.00"},"description":"Rent"},"transaction_ids":"902ba3bb-dedd-45e7-9319-2fd3f2cd98a1","status":"COMPLETED","start_date":"2016-10-09T20:01:53Z","end_date":"2016-10-09T20:01:53Z","challenge":null}]}
put executed! 201 {"id":"4050046c","type":"SANDBOX_TAN","from":{"bank_id":"BK0","account_id":"payer"},"body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"},"transaction_ids":"902ba3bb","status":"COMPLETED","start_date":"2026-01-15T09:59:59Z","end_date":"2026-01-15T09:59:59Z"}
put executed! 201 {"id":"4050046c","type":"SANDBOX_TAN","body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"},"transaction_ids":"","status":"INITIATED","start_date":"2026-01-15T09:59:59Z","challenge":{"id":"be1a183d","allowed_attempts":3,"challenge_type":"SANDBOX_TAN"}}
put executed 201 {"id":"4050046c","type":"ACCOUNT","from":{"bank_id":"BK0","account_id":"payer"},"details":{"to_sandbox_tan":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":"5.00"},"description":"Rent"},"transaction_ids":["902ba3bb"],"status":"COMPLETED","start_date":"2020-01-27T00:00:00Z","end_date":"2020-01-27T00:00:00Z","challenge":null,"charge":{"summary":"Total charges","value":{"currency":"EUR","amount":"0.00"}}}
put unknowable 200 {"transaction-requests":[{"id":"T1","status":"NEXT_CHALLENGE_PENDING","challenges":[]}]}
put unknowable 200 {"transaction-requests":[{"status":"COMPLETED"}]}
put executed! 200 {"transaction-requests":[{"id":"T1","status":"NEXT_CHALLENGE_PENDING","challenges":[],"body":{"to":{"account_id":"x"},"value":{"currency":"EUR","amount":5}}}]}
put executed! 200 {"transaction-requests":[{"id":"old","status":"FAILED","body":{"to":{"bank_id":"BK1","account_id":"other"},"value":{"currency":"EUR","amount":1}}},{"id":"new","status":"COMPLETED","body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5}}}]}
put refused! 200 {"transaction-requests":[{"id":"old","status":"COMPLETED","body":{"to":{"bank_id":"BK1","account_id":"other"},"value":{"currency":"EUR","amount":1}}},{"id":"new","status":"FAILED","body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5}}}]}
put refused! 200 {"transaction-requests":[{"id":"T1","type":"SEPA","status":"FAILED","transaction_ids":"","body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"}}]}
put refused 200 {"transaction-requests":[{"statusText":"Rejected"}]}
put refused 200 {"transaction-requests":[{"id":"T1","error":"OBP-40018"}]}
put unknowable 200 {"transaction-requests":[]}
put unknowable 200 {"transaction-requests":[{"id":"T1","status":"PENDING"}]}
put unknowable 200 {"transaction-requests":[{"id":"T1","status":"FORWARDED"}]}
put unknowable 200 {"transaction-requests":[{"id":"old","status":"COMPLETED","body":{"to":{"account_id":"other"}}}]}
put unknowable 200 {"transaction-requests":[{"id":"a","status":"COMPLETED"},{"id":"b","status":"COMPLETED"}]}
put unknowable 200 {"transaction-requests":[{"id":"a","status":"COMPLETED","body":{"to":{"account_id":"x"},"value":{"currency":"EUR","amount":5}}},{"id":"b","status":"COMPLETED","body":{"to":{"account_id":"x"},"value":{"currency":"EUR","amount":5}}}]}
put unknowable 200 {"transaction-requests":[{"id":"a","status":"COMPLETED","body":{"to":{"account_id":"x"},"value":{"currency":"EUR","amount":50}}}]}
put unknowable 200 {"id":"4050046c","status":"COMPLETED"}
put unknowable 200 {"transaction_requests_with_charges":[]}
put refused! 404 {"code":404,"message":"OBP-30018: Bank Account not found. Please specify valid values for BANK_ID and ACCOUNT_ID. "}
put refused! 404 {"code":404,"message":"OBP-30018: Bank Account not found. Please specify valid values for BANK_ID and ACCOUNT_ID.  Current BankId is BK1 and Current AccountId is x"}
put unknowable 404 {"code":404,"message":"OBP-30018: Bank Account not found. Please specify valid values for BANK_ID and ACCOUNT_ID.  Current BankId is BK1 and Current AccountId is y"}
put unknowable 404 {"code":404,"message":"OBP-30018: Bank Account not found. The payment was executed."}
put refused! 404 {"code":404,"message":"OBP-30003: Account not found. Please specify a valid value for ACCOUNT_ID."}
put refused! 404 {"code":404,"message":"OBP-30076: Bank Account not found. Please specify a valid value for ACCOUNT_ID."}
refused! 400 {"error":"OBP-30018: Bank Account not found. Please specify valid values for BANK_ID and ACCOUNT_ID."}
put refused 400 {"code":400,"message":"OBP-40008: Can't send a payment with a value of 0 or less."}
put refused 400 {"code":400,"message":"OBP-40002: Insufficient authorisation to create TransactionRequest. The Transaction Request could not be created because the login user doesn't have access to the view of the from account or the view don't have the permission"}
put refused 403 {"code":403,"message":"OBP-30022: The current view does not have the permission: can_add_transaction_request_to_own_account"}
put refused 400 {"code":400,"message":"OBP-40001: Invalid value for TRANSACTION_REQUEST_TYPE"}
put unknowable 400 {"code":400,"message":"OBP-40011: Transaction Request Status is not INITIATED."}
put unknowable 400 {"code":400,"message":"OBP-50000: Unknown Error."}
put unknowable 400 {"code":400,"message":"OBP-50200: Connector cannot return the data we requested."}
put unknowable 408 {"code":408,"message":"OBP-50001: Future timeout."}
put unknowable 400 {"code":400,"message":"OBP-40009: The TRANSACTION_REQUEST_TYPE has changed."}
executed! 201 {"transaction_id":"1f5587fa-8ad8-3c6b-8fac-ac3db5bdc3db"}
executed! 201 {"transaction_id":"1b5f6988-a99a-443b-acfc-7f06bb912bd4"}
refused! 401 {"code":401,"message":"OBP-20001: User not logged in. Authentication is required!"}`,

  'Berlin Group NextGenPSD2': `
unknowable 201 {"transactionStatus":"RCVD","paymentId":"1234-wertiq-983","_links":{"scaRedirect":{"href":"https://www.testbank.com/asdfasdfasdf"},"self":{"href":"/v1/payments/sepa-credit-transfers/1234-wertiq-983"},"status":{"href":"/v1/payments/1234-wertiq-983/status"}}}
unknowable 201 {"transactionStatus":"ACTC","paymentId":"123"}
unknowable 201 {"transactionStatus":"PDNG","paymentId":"123"}
unknowable 201 {"transactionStatus":"ACCP","paymentId":"123"}
unknowable 201 {"transactionStatus":"ACSP","paymentId":"123","_links":{"self":{"href":"/v1/payments/123"}}}
unknowable 201 {"transactionStatus":"ACWP","paymentId":"123"}
unknowable 201 {"transactionStatus":"PATC","paymentId":"123"}
unknowable 201 {"transactionStatus":"PART","paymentId":"123"}
executed! 201 {"transactionStatus":"ACSC","paymentId":"123","_links":{"self":{"href":"/v1/payments/123"},"status":{"href":"/v1/payments/123/status"}}}
executed! 201 {"transactionStatus":"ACCC","paymentId":"123"}
executed 201 {"transactionStatus":"ACSC","paymentId":"123","transactionFees":{"currency":"EUR","amount":"0"}}
refused! 201 {"transactionStatus":"RJCT","paymentId":"123"}
refused! 201 {"transactionStatus":"CANC","paymentId":"123"}
refused 201 {"transactionStatus":"RJCT","paymentId":"123","psuMessage":"Guthaben reicht nicht"}
unknowable 201 {"transactionStatus":"RCVD","paymentId":"123","tppMessages":[{"category":"WARNING","code":"PRODUCT_UNKNOWN"}]}
unknowable 201 {"paymentId":"123","scaStatus":"received"}
unknowable 201 {"paymentId":"123","_links":{"startAuthorisation":{"href":"/v1/payments/123/authorisations"}}}
refused 400 {"tppMessages":[{"category":"ERROR","code":"FUNDS_NOT_AVAILABLE","text":"Deckung fehlt"}]}
refused 400 {"tppMessages":[{"category":"ERROR","code":"PAYMENT_FAILED"}]}
refused 403 {"tppMessages":[{"category":"ERROR","code":"SERVICE_BLOCKED","text":"The service is blocked"}]}
unknowable 400 {"type":"https://berlingroup.com/error-codes/PAYMENT_FAILED","code":"PAYMENT_FAILED","title":"Zahlung fehlgeschlagen"}
unknowable 409 {"tppMessages":[{"category":"ERROR","code":"STATUS_INVALID"}]}
unknowable 400 {"tppMessages":[{"category":"ERROR","code":"DUPLICATE"}]}`,

  'Open Banking UK (OBIE 3.1)': `
unknowable 201 {"Data":{"DomesticPaymentId":"58923-001","ConsentId":"58923","CreationDateTime":"2017-06-05T15:15:22+00:00","Status":"AcceptedSettlementInProcess","StatusUpdateDateTime":"2017-06-05T15:15:22+00:00"},"Links":{"Self":"https://api.alphabank.com/pisp/domestic-payments/58923-001"},"Meta":{}}
executed 201 {"Data":{"DomesticPaymentId":"58923-001","Status":"AcceptedSettlementCompleted"},"Links":{"Self":"https://api.alphabank.com/58923-001"},"Meta":{}}
executed 201 {"Data":{"DomesticPaymentId":"58923-001","Status":"AcceptedCreditSettlementCompleted"}}
refused 201 {"Data":{"DomesticPaymentId":"58923-001","Status":"Rejected"}}
unknowable 201 {"Data":{"DomesticPaymentId":"58923-001","Status":"Pending"}}
unknowable 201 {"Data":{"DomesticPaymentId":"58923-001","Status":"AcceptedWithoutPosting"}}
executed! 201 {"PaymentId":"58923-001","Status":"AcceptedSettlementCompleted","CreationDateTime":"2026-01-15T09:59:59+00:00","Links":{"Self":"https://api.alphabank.com/58923-001"}}
unknowable 201 {"PaymentId":"58923-001","Status":"AcceptedSettlementCompleted","CreationDateTime":"2017-06-05T15:15:22+00:00","Links":{"Self":"https://api.alphabank.com/58923-001"}}
unknowable 201 {"PaymentId":"58923-001","Status":"AcceptedSettlementInProcess"}
refused! 201 {"PaymentId":"58923-001","Status":"Rejected"}
refused 400 {"Code":"400 BadRequest","Id":"2b5f0fb4","Message":"There is something wrong with the request parameters provided","Errors":[{"ErrorCode":"UK.OBIE.Field.Invalid","Message":"Invalid amount","Path":"Data.Initiation.InstructedAmount"}]}
refused 403 {"Code":"403","Id":"2b5f0fb4","Message":"Forbidden","Errors":[{"ErrorCode":"UK.OBIE.Reauthenticate","Message":"Reauthenticate"}]}
unknowable 400 {"Code":"400","Message":"UK.OBIE.Rules.DuplicateReference","Errors":[{"ErrorCode":"UK.OBIE.Rules.DuplicateReference","Message":"Duplicate reference"}]}
unknowable 400 {"Code":"400","Message":"UK.OBIE.UnexpectedError","Errors":[{"ErrorCode":"UK.OBIE.UnexpectedError","Message":"Unexpected error"}]}
refused! 403 {"Code":"403","Message":"Forbidden"}
executed 400 {"Code":"400","Message":"Resource already consumed: the payment was submitted"}`,

  'STET (France)': `
executed 201 {"appliedAuthenticationApproach":"REDIRECT","paymentInformationStatus":"ACSC"}
unknowable 201 {"appliedAuthenticationApproach":"REDIRECT","_links":{"consentApproval":{"href":"https://psu.example/approval"}}}
refused 201 {"paymentInformationStatus":"RJCT","statusReasonInformation":"AM04"}
refused 403 {"timestamp":"2018-03-30T16:06:27.499+0000","status":403,"error":"Forbidden","message":"Bénéficiaire non autorisé","path":"/v1/payment-requests"}
refused 400 {"timestamp":"2018-03-30T16:06:27.499Z","status":400,"error":"FF01","message":"RJCT"}
refused 400 {"status":400,"error":"Bad Request","message":"Provision insuffisante"}
executed 400 {"status":400,"error":"Bad Request","message":"Opération déjà exécutée"}
executed 422 {"status":422,"message":"Le paiement a déjà été traité"}
unknowable 422 {"status":422,"message":"Paiement en cours de traitement"}
unknowable 400 {"status":400,"message":"Délai d'attente dépassé"}
unknowable 404 {"status":404,"error":"Not Found","message":"Réponse du système bancaire introuvable"}`,

  Adyen: `
unknowable 200 {"pspReference":"993617895204576J","resultCode":"Authorised"}
refused 200 {"pspReference":"993617895215577D","resultCode":"Refused","refusalReason":"Not enough balance","refusalReasonCode":"12"}
unknowable 200 {"pspReference":"993617895215577D","resultCode":"Pending"}
unknowable 200 {"pspReference":"993617895215577D","resultCode":"Received"}
refused 200 {"resultCode":"Cancelled"}
refused 200 {"resultCode":"Error","refusalReason":"Acquirer Error"}
unknowable 200 {"resultCode":"RedirectShopper","action":{"type":"redirect"}}
unknowable 202 {"id":"1W1UG35U8A9J5ZLG","amount":{"value":500,"currency":"EUR"},"status":"authorised"}
executed 200 {"id":"1W1UG35U8A9J5ZLG","amount":{"value":500,"currency":"EUR"},"status":"booked","category":"bank","direction":"outgoing"}
refused! 200 {"id":"1W1UG35U8A9J5ZLG","status":"refused","reason":"notEnoughBalance"}
refused 422 {"status":422,"errorCode":"130","message":"Required field 'reference' is not provided.","errorType":"validation"}
refused 422 {"type":"https://docs.adyen.com/errors/forbidden","title":"Forbidden","status":403,"detail":"Not the right permission","requestId":"6TBRU"}
unknowable 422 {"status":422,"errorCode":"704","message":"request already processed or in progress","errorType":"validation"}
unknowable 422 {"status":422,"message":"request already processed or in progress"}
refused 200 {"status":"failed","reason":"counterpartyAccountNotFound"}
refused 401 {"status":401,"errorCode":"000","message":"HTTP Status Response - Unauthorized","errorType":"security"}`,

  Stripe: `
executed 200 {"id":"ch_3MmlLr","object":"charge","amount":500,"paid":true,"status":"succeeded","captured":true,"created":1679090539}
executed 200 {"id":"po_1OaF","object":"payout","status":"paid","amount":500,"arrival_date":1680000000}
unknowable 200 {"id":"po_1OaF","object":"payout","status":"in_transit"}
unknowable 200 {"id":"pi_3Mt","object":"payment_intent","status":"requires_action","next_action":{"type":"use_stripe_sdk"}}
unknowable 200 {"id":"pi_3Mt","object":"payment_intent","status":"processing"}
refused 200 {"id":"ch_3MmlLr","object":"charge","status":"failed","failure_code":"insufficient_funds","paid":false}
executed! 200 {"id":"tr_1MiN3g","status":"succeeded"}
refused! 200 {"id":"tr_1MiN3g","status":"failed"}
unknowable 200 {"id":"tr_1MiN3g","status":"pending"}
refused 402 {"error":{"code":"card_declined","decline_code":"insufficient_funds","message":"Your card has insufficient funds.","type":"card_error"}}
refused 402 {"error":{"code":"insufficient_funds","message":"Votre compte ne suffit pas."}}
refused! 402 {"error":{"code":"account_closed","message":"The account has been closed."}}
refused 400 {"error":{"code":"balance_insufficient","message":"Insufficient funds in Stripe account.","type":"invalid_request_error","doc_url":"https://stripe.com/docs/error-codes/balance-insufficient"}}
unknowable 400 {"error":{"message":"Keys for idempotent requests can only be used with the same parameters they were first used with.","type":"idempotency_error"}}
unknowable 409 {"error":{"code":"idempotency_key_in_use","message":"There is currently another in-progress request using this key","type":"idempotency_error"}}
executed 400 {"error":{"code":"charge_already_captured","message":"Charge ch_1 has already been captured.","type":"invalid_request_error"}}
unknowable 402 {"error":{"code":"processing_error","message":"An error occurred while processing the card.","type":"card_error"}}
refused 402 {"error":{"code":"account_number_invalid","message":"This account number is invalid","type":"invalid_request_error"}}`,

  Wise: `
unknowable 200 {"id":16521632,"user":4342275,"targetAccount":8692237,"sourceAccount":null,"quote":8673829,"status":"incoming_payment_waiting","reference":"Rent","rate":1.1,"created":"2017-11-24 10:47:49"}
executed 200 {"id":16521632,"targetAccount":8692237,"status":"outgoing_payment_sent","created":"2017-11-24 10:47:49"}
executed 201 {"type":"BALANCE","status":"COMPLETED","errorCode":null,"balanceTransactionId":5897}
refused 201 {"type":"BALANCE","status":"REJECTED","errorCode":"balance.payment-option-unavailable"}
refused 201 {"type":"BALANCE","status":"REJECTED","errorCode":"transfer.insufficient_funds","balanceTransactionId":null}
executed! 201 {"status":"COMPLETED","transferId":5897}
executed! 201 {"id":5897,"status":"COMPLETED","created":"2026-01-15 09:59:59"}
unknowable 201 {"id":5897,"status":"COMPLETED","created":"2017-11-24 10:47:49"}
refused 422 {"errors":[{"code":"NOT_VALID","message":"Invalid target account","path":"targetAccount","arguments":["targetAccount"]}]}
refused 403 {"timestamp":"2020-08-26T14:08:49.174+00:00","status":403,"error":"Forbidden","message":"You are forbidden to send this request","path":"/v3/profiles/1/transfers/1/payments"}
unknowable 409 {"message":"Transfer is already funded"}
refused 422 {"errors":[{"code":"INSUFFICIENT_FUNDS","message":"Solde insuffisant"}]}
executed 400 {"errors":[{"code":"TRANSFER_STATE","message":"Transfer is already funded"}]}
unknowable 200 {"id":1,"status":"processing"}
unknowable 200 {"id":1,"status":"bounced_back"}`,

  'Authorize.net': `
executed 200 {"transactionResponse":{"responseCode":"1","authCode":"HH5414","transId":"2149186848","messages":[{"code":"1","description":"This transaction has been approved."}]},"messages":{"resultCode":"Ok","message":[{"code":"I00001","text":"Successful."}]}}
refused 200 {"transactionResponse":{"responseCode":"2","transId":"2149186849","errors":[{"errorCode":"2","errorText":"This transaction has been declined."}]},"messages":{"resultCode":"Ok","message":[{"code":"I00001","text":"Successful."}]}}
refused 200 {"transactionResponse":{"responseCode":"3","transId":"0"},"messages":{"resultCode":"Error","message":[{"code":"E00027","text":"The transaction was unsuccessful."}]}}
unknowable 200 {"transactionResponse":{"responseCode":"4","transId":"2149186850"},"messages":{"resultCode":"Ok"}}
refused 200 {"transId":"0","result":"Ok"}
refused 200 {"transaction_id":"0","status":"OK","errors":[{"errorCode":"11"}]}
refused 200 {"transaction_id":"0","result":"Ok"}
executed 200 {"errorCode":"11","errorText":"A duplicate transaction has been submitted.","transId":"2149186848"}
refused 200 {"id":"1","is_rejected":true}
refused 200 {"id":"1","is_successful":false}
refused 200 {"id":"1","errorMessages":["Insufficient funds"]}
refused 200 {"id":"1","status":"COMPLETED","is_rejected":true}`,

  PayPal: `
executed 201 {"id":"5O190127TN364715T","status":"COMPLETED","links":[{"href":"https://api-m.paypal.com/v2/payments/captures/5O190127TN364715T","rel":"self","method":"GET"},{"href":"https://api-m.paypal.com/refund","rel":"refund","method":"POST"}]}
executed! 201 {"id":"5O190127TN364715T","status":"COMPLETED","links":[{"href":"https://api-m.paypal.com/v2/payments/captures/5O190127TN364715T","rel":"self","method":"GET"}]}
unknowable 201 {"id":"5O190127TN364715T","status":"CREATED","links":[{"href":"https://www.paypal.com/checkoutnow?token=5O190127TN364715T","rel":"approve","method":"GET"}]}
unknowable 201 {"id":"5O190127TN364715T","status":"PAYER_ACTION_REQUIRED"}
unknowable 201 {"id":"5O190127TN364715T","links":[{"href":"https://www.paypal.com/checkoutnow","rel":"approve","method":"GET"}]}
unknowable 200 {"id":"5O190127TN364715T","status":"PENDING","status_details":{"reason":"PENDING_REVIEW"}}
refused! 200 {"id":"5O190127TN364715T","status":"DECLINED"}
refused 201 {"id":"5O190127TN364715T","status":"DECLINED","processor_response":{"response_code":"5120"}}
refused 422 {"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED","description":"The instrument presented was either declined by the processor or bank."}],"message":"The requested action could not be performed.","debug_id":"90957fca61718"}
executed 422 {"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"ORDER_ALREADY_CAPTURED"}],"message":"The requested action could not be performed","debug_id":"9"}
unknowable 422 {"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"DUPLICATE_INVOICE_ID"}]}
unknowable 201 {"batch_header":{"payout_batch_id":"5UXD2E8A7EBQJ","batch_status":"PENDING"}}
refused 403 {"name":"NOT_AUTHORIZED","message":"Authorization failed due to insufficient permissions.","debug_id":"1"}
refused 400 {"error":"invalid_client","error_description":"Client Authentication failed"}`,

  'Square, GoCardless, Plaid, Modulr, Dwolla, Mollie, Marqeta': `
executed 200 {"payment":{"id":"bP9mAsEMYPUGjjGNaNO5ZDVyLhSZY","status":"COMPLETED","amount_money":{"amount":500,"currency":"EUR"}}}
refused 402 {"errors":[{"category":"PAYMENT_METHOD_ERROR","code":"INSUFFICIENT_FUNDS","detail":"Funds insufficient"}]}
refused 402 {"errors":[{"code":"INSUFFICIENT_FUNDS","detail":"Gateway says no"}]}
unknowable 400 {"errors":[{"category":"INVALID_REQUEST_ERROR","code":"IDEMPOTENCY_KEY_REUSED","detail":"The idempotency key can only be retried with the same request data."}]}
unknowable 400 {"errors":[{"code":"IDEMPOTENCY_KEY_REUSED","detail":"Already used"}]}
unknowable 200 {"payment":{"id":"bP9m","status":"APPROVED"}}
refused 200 {"payment":{"id":"bP9m","status":"FAILED"}}
unknowable 201 {"payments":{"id":"PM123","created_at":"2014-05-08T17:01:06.000Z","status":"pending_submission","amount":500,"currency":"EUR"}}
refused 422 {"error":{"message":"Validation failed","errors":[{"reason":"limit_exceeded","message":"exceeds limit"}],"type":"validation_failed","code":422,"request_id":"dd50eaaf"}}
unknowable 409 {"error":{"type":"invalid_state","code":409,"errors":[{"reason":"idempotent_creation_conflict","links":{"conflicting_resource_id":"PM123"}}]}}
unknowable 200 {"payment_id":"payment-id-sandbox-feca8a7a","status":"PAYMENT_STATUS_INITIATED","request_id":"4ciYccesdqSiUAB"}
unknowable 200 {"payment_id":"payment-id-sandbox-feca8a7a","status":"PAYMENT_STATUS_INPUT_NEEDED"}
executed 200 {"transfer":{"id":"460cbe92","status":"settled","amount":"5.00"},"request_id":"saKrIBuEB9qJZno"}
refused 200 {"transfer":{"id":"460cbe92","status":"failed","failure_reason":{"ach_return_code":"R01"}}}
refused 400 {"error_type":"TRANSFER_ERROR","error_code":"TRANSFER_LIMIT_REACHED","error_message":"transfer limit","display_message":null,"request_id":"HNTDNrA8F1shFEW"}
unknowable 201 {"id":"P120AB","status":"SUBMITTED","createdDate":"2017-01-28T01:01:01+0000","amount":5.00,"currency":"EUR"}
executed! 201 {"id":"P120AB","status":"PROCESSED","createdDate":"2026-01-15T09:59:59+0000","amount":5.00,"currency":"EUR"}
unknowable 201 {"id":"P120AB","status":"PROCESSED","createdDate":"2017-01-28T01:01:01+0000","amount":5.00,"currency":"EUR"}
unknowable 201 {"id":"P120AB","status":"VALIDATED","approvalStatus":"NOTNEEDED"}
unknowable 201 {"id":"P120AB","status":"PENDING_FOR_FUNDS"}
refused 201 {"id":"P120AB","status":"ER_INVALID","message":"Invalid destination"}
refused! 201 {"id":"P120AB","status":"REJECTED","code":"AM04","reason":"Insufficient funds"}
refused 400 [{"code":"INVALID","field":"amount","message":"must be positive","sourceService":"MERC"}]
unknowable 400 [{"code":"DUPLICATE","message":"A payment with this external reference exists"}]
unknowable 201 {"resource":"payment","id":"tr_7UhSN1zuXS","status":"open","isCancelable":true}
executed 200 {"resource":"payment","id":"tr_7UhSN1zuXS","status":"paid"}
refused 422 {"status":422,"title":"Unprocessable Entity","detail":"The amount is higher than the maximum","field":"amount","_links":{"documentation":{"href":"https://docs.mollie.com/errors","type":"text/html"}}}
refused 403 {"code":"Forbidden","message":"Not authorized to create a transfer"}
refused 400 {"code":"ValidationError","message":"Validation error(s) present.","_embedded":{"errors":[{"code":"InsufficientFunds","message":"Insufficient funds.","path":"/amount"}]}}
refused 200 {"token":"c0e1a5","state":"DECLINED","response":{"code":"1834","memo":"Insufficient funds"}}
executed 200 {"token":"c0e1a5","state":"COMPLETION","response":{"code":"0000"}}`,

  'HTTP gateways: Azure API Management, Apigee, Kong, nginx, AWS, Envoy, Cloudflare, F5': `
refused! 429 { "statusCode": 429, "message": "Rate limit is exceeded. Try again in 26 seconds." }
refused! 429 {"statusCode":429,"message":"Rate limit is exceeded. Try again in 1 seconds."}
refused! 403 { "statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 03:14:17." }
refused! 403 {"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 20.09:58:55."}
refused! 403 {"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 2.12 days."}
refused! 401 { "statusCode": 401, "message": "Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API." }
refused! 401 { "statusCode": 401, "message": "Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription." }
refused! 404 { "statusCode": 404, "message": "Resource not found" }
unknowable 429 {"statusCode":429,"message":"Rate limit is exceeded. Try again in 26 seconds.","transactionId":"T1"}
unknowable 429 {"statusCode":429,"message":"Rate limit is exceeded. Try again in 26 seconds. The payment was queued."}
unknowable 429 {"statusCode":403,"message":"Rate limit is exceeded. Try again in 26 seconds."}
unknowable 403 {"statusCode":429,"message":"Rate limit is exceeded. Try again in 26 seconds."}
unknowable 429 {"message":"Too many requests"}
unknowable 429 {"code":"RATE_LIMITED","message":"Too many payments; the last one was accepted"}
unknowable 500 { "statusCode": 500, "message": "Internal server error", "activityId": "4d2c" }
unknowable 429 {"fault":{"faultstring":"Rate limit quota violation. Quota limit  exceeded. Identifier : _default","detail":{"errorcode":"policies.ratelimit.QuotaViolation"}}}
unknowable 403 {"fault":{"faultstring":"Access Denied for client ip","detail":{"errorcode":"accesscontrol.IPDeniedAccess"}}}
unknowable 504 {"fault":{"faultstring":"Gateway Timeout","detail":{"errorcode":"messaging.adaptors.http.flow.GatewayTimeout"}}}
refused! 429 {"message":"API rate limit exceeded"}
refused! 429 {"message":"API rate limit exceeded","request_id":"2f3a6a4cbf1d8f0b1a3a5b6b4a5c5d2e"}
refused! 429 {"message":"Too Many Requests"}
refused! 429 {"message":"Limit Exceeded"}
unknowable 503 {"message":"failure to get a peer from the ring-balancer"}
unknowable 502 <html><head><title>502 Bad Gateway</title></head></html>
unknowable 504 upstream request timeout
unknowable 503 upstream connect error or disconnect/reset before headers. reset reason: connection failure
unknowable 413 <html><head><title>413 Request Entity Too Large</title></head></html>
unknowable 403 {"message":"Missing Authentication Token"}
unknowable 504 {"message":"Endpoint request timed out"}
unknowable 400 {"message":"Gateway gave up after 30 s"}
unknowable 400 {"message":"Endpoint request timed out"}
unknowable 404 {"code":404,"message":"no healthy upstream"}
unknowable 200 no healthy upstream
unknowable 200 <html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Your support ID is: 123</body></html>
unknowable 403 <!DOCTYPE html><title>Attention Required! | Cloudflare</title>
unknowable 403 error code: 1020
unknowable 499 {"message":"client closed request"}
unknowable 400 400 The plain HTTP request was sent to HTTPS port
unknowable 200 {"message":"Please log in"}
unknowable 302 
unknowable 307 {"id":"T"}
unknowable 206 {"id":"T"}
unknowable 202 {"id":"T","status":"COMPLETED"}
unknowable 202 {}
unknowable 202 
unknowable 207 {"id":"T"}
unknowable 226 {"id":"T","status":"OK"}
unknowable 205 
executed! 203 {"id":"T"}
executed! 204 `,

  'Frameworks: Spring, ASP.NET, Express, FastAPI, Rails, Laravel, RFC 9457': String.raw`
refused 400 {"timestamp":"2020-10-01T10:00:00.000+00:00","status":400,"error":"Bad Request","message":"","path":"/make-transaction"}
unknowable 400 {"timestamp":"2020-10-01T10:00:00.000+00:00","status":400,"error":"Bad Request"}
refused! 400 {"timestamp":"2020-10-01T10:00:00.000+00:00","status":400,"error":"Bad Request","message":"Insufficient funds"}
refused! 422 {"timestamp":"2020-10-01T10:00:00Z","status":422,"error":"Unprocessable Entity","message":"Daily limit exceeded."}
refused! 404 {"timestamp":"2020-10-01T10:00:00Z","status":404,"error":"Not Found","message":"Account not found"}
unknowable 404 {"timestamp":"2020-10-01T10:00:00Z","status":404,"error":"Not Found","message":"No response from core banking"}
refused! 403 {"timestamp":"2020-10-01T10:00:00Z","status":403,"error":"Forbidden","message":"Access Denied"}
unknowable 500 {"timestamp":"2020-10-01T10:00:00Z","status":500,"error":"Internal Server Error"}
unknowable 400 {"status":400,"error":"Bad Request","message":"I/O error on POST request for \"http://core\": Read timed out; nested exception is java.net.SocketTimeoutException"}
refused 403 {"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","detail":"Your current balance is 30, but that costs 50.","instance":"/account/12345/msgs/abc","balance":30}
refused! 422 {"title":"Insufficient funds","status":422,"detail":"The balance is too low."}
refused 422 {"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"Account blocked"}
unknowable 400 {"type":"https://tools.ietf.org/html/rfc7231#section-6.5.1","title":"One or more validation errors occurred.","status":400,"traceId":"|7fb5e16a","errors":{"amount":["The field amount is invalid."]}}
unknowable 422 {"detail":[{"loc":["body","amount"],"msg":"value is not a valid float","type":"type_error.float"}]}
refused! 403 {"detail":"Forbidden"}
refused! 404 {"detail":"Not Found"}
refused 422 {"message":"The given data was invalid.","errors":{"amount":["The amount field is required."]}}
unknowable 400 {"statusCode":400,"error":"Bad Request","message":"Unexpected end of JSON input"}
refused! 400 {"statusCode":400,"error":"Bad Request","message":"Invalid IBAN"}
refused! 404 {"statusCode":404,"message":"Not Found"}
unknowable 400 {"name":"Error","message":"socket hang up"}
unknowable 400 {"errno":-104,"code":"ECONNRESET","message":"read ECONNRESET"}
unknowable 400 {"error":"upstream timeout"}
unknowable 422 {"errors":["Name is taken"]}
unknowable 400 {"message":"context deadline exceeded"}
unknowable 400 {}
unknowable 400 []
unknowable 400 "Insufficient funds"
unknowable 400 
unknowable 422 {"message":null}
unknowable 404 {"message":"Cannot POST /v1/api/banks"}`,

  'JSON:API, envelopes and plain words': `
executed 200 {"data":{"id":"T"}}
executed 200 {"data":{"id":"T","type":"transfers","attributes":{"status":"completed"}}}
executed 200 {"transaction":{"id":"T"}}
executed 200 {"success":true,"data":{"transactionId":"T"}}
executed 200 {"result":{"id":"T"}}
refused 200 {"success":false,"data":{"transactionId":"T"}}
refused 200 {"success":false,"message":"Insufficient funds"}
refused 200 {"data":null,"errors":[{"message":"Insufficient funds"}]}
refused 200 {"status":"fail","data":{"amount":"too high"}}
refused 200 {"status":"error","message":"Account blocked"}
executed! 200 OK
executed! 200 "OK"
executed! 200 Success
executed! 200 "COMPLETED"
executed! 200 
executed! 200 {}
executed! 201 {"id":"T"}
executed! 200 {"uuid":"5f1e3a"}
executed! 200 {"transactionId":"T","status":"Success"}
executed! 200 {"payment_id":"P-1","payment_status":"executed"}
executed! 200 {"transfer_id":42,"state":"DONE"}
executed! 200 {"status":"SUCCESS"}
executed! 200 {"result":"ok"}
executed! 200 {"outcome":"processed","id":"T"}
executed! 200 {"id":"T","amount":5,"currency":"EUR"}
executed! 200 {"id":"T","amount":"5.0","currency":"eur","description":"Rent"}
executed! 200 {"id":"T","value":{"amount":5.00,"currency":"EUR"},"to":{"bank_id":"BK1","account_id":"x"}}
executed! 200 {"id":"T","status":"COMPLETED","created_at":"2026-01-15T09:59:59Z"}
unknowable 200 {"id":"T","status":"COMPLETED","created_at":"2024-02-29T10:00:00Z"}
executed! 200 {"id":"T","status":"COMPLETED","errors":[],"warnings":[]}
executed! 200 {"id":"T","uuid":"u-1","this_account":"payer","other_account":"x","details":{"type":"TRANSFER","status":"COMPLETED","description":"Rent","posted":"2026-01-15","completed":"2026-01-15","value":{"amount":-5,"currency":"EUR"},"new_balance":{"amount":10.5,"currency":"EUR"}},"metadata":{"comments":"","narrative":"","tags":"","where":""}}
unknowable 200 {"id":"T","uuid":"u-1","this_account":"payer","other_account":"x","details":{"type":"TRANSFER","status":"COMPLETED","description":"Rent","posted":"2024-01-01","completed":"2024-01-01","value":{"amount":-5,"currency":"EUR"},"new_balance":{"amount":10.5,"currency":"EUR"}},"metadata":{"comments":"","narrative":"","tags":"","where":""}}
refused! 200 {"status":"REJECTED"}
refused! 200 DECLINED
refused! 200 "rejected"
refused! 200 {"id":"T","status":"FAILED","message":"Insufficient funds"}
refused! 200 {"id":"T","status":"FAILED","code":"AM04"}
refused! 200 {"id":"T","state":"Cancelled"}
refused 200 {"id":"T","status":"FAILED","message":"Saldo insuficiente"}
executed 200 {"status":"FAILED","reason":"duplicate of T-9, which was executed"}
unknowable 200 {"status":"FAILED","id":"T","retry_at":"2024-01-01"}
refused 200 {"id":"T","status":"COMPLETED","error":"Insufficient funds"}
refused 200 {"id":"T","description":"Insufficient funds"}
refused 200 {"id":"T","type":"ERROR"}
refused 200 {"id":"T","amount":0}
refused 200 {"id":"T","rejected_date":"2024-01-01"}
unknowable 200 {"id":"T","compliance":"hold"}
unknowable 200 {"id":"T","challenges":[{"id":"c"}]}
unknowable 200 {"id":"T","status":"NOK2"}
unknowable 200 {"id":"T","status":"COMPLETED","status":"FAILED"}
unknowable 200 {"id":"T","status":"COMPLETED","Status":"FAILED"}
unknowable 200 {"id":"T","status":"COMPLETED","state":"PENDING"}
unknowable 200 {"id":"T","status":"COMPLETED","state":"FAILED"}
unknowable 200 {"id":"T","status":true}
unknowable 200 {"id":"T","status":null}
unknowable 200 {"id":"T","status":["COMPLETED"]}
unknowable 200 {"id":"T","status":"COMPLETED","amount":4.99}
unknowable 200 {"id":"T","status":"COMPLETED","to":{"account_id":"other"}}
unknowable 200 {"id":"T","executed_at":null}
unknowable 200 {"id":"T","execution_date":"2099-01-01"}
unknowable 200 {"id":"T","created":"2099-01-01T00:00:00Z"}
refused 200 {"id":"error"}
refused 200 {"id":"0"}
refused 200 {"id":0,"status":"OK"}
refused 200 {"id":-1}
refused 200 {"id":null}
refused 200 {"id":"INSUFFICIENT_FUNDS"}
refused 200 {"transaction_id":"none"}
unknowable 200 {"id":"T","status":"Approved"}
unknowable 200 {"id":"T","status":"accepted"}
unknowable 200 {"id":"T","status":"scheduled"}
unknowable 200 {"id":"T","status":"queued"}
unknowable 200 Accepted
unknowable 200 "pending"
unknowable 200 ERROR
unknowable 200 null
unknowable 200 true
refused 200 false
unknowable 200 0
unknowable 200 []
unknowable 200 [{"id":"T"}]
unknowable 200 {"id":"T"
unknowable 200 {"message":"Payment scheduled for tomorrow","id":"T"}
refused 200 {"code":"51","id":"T"}
executed 200 {"code":"00","id":"T"}
executed 200 {"responseCode":"00","message":"Approved","id":"T"}
refused 200 {"responseCode":"51","message":"Approved","id":"T"}
refused 422 {"code":"INSUFFICIENT_FUNDS","message":"Anything"}
refused! 422 {"code":"INSUFFICIENT_FUNDS","message":"Insufficient funds"}
executed 422 {"code":"INSUFFICIENT_FUNDS","message":"The transfer was booked; your account is now overdrawn"}
executed 422 {"code":"AM04","message":"already executed"}
executed 422 {"message":"AM04: Payment executed"}
executed 422 {"error":{"code":"AM04","message":"Zahlung wurde bereits ausgeführt"}}
unknowable 422 {"code":"AM05"}
unknowable 422 {"code":"DUPL","message":"Account not found"}
refused! 422 {"code":"AC01","message":"IncorrectAccountNumber"}
refused! 422 {"code":"AC06","message":"BlockedAccount"}
refused! 422 {"message":"AC04: ClosedAccountNumber"}
unknowable 422 {"message":"IncorrectAccountNumber"}
unknowable 422 {"code":"AC06","message":"IncorrectAccountNumber"}
refused! 422 {"code":"ACCOUNT_BLOCKED"}
refused! 422 {"code":"AM04","message":"InsufficientFunds"}
refused 422 {"code":"AC06","title":"Conto bloccato"}
refused! 422 {"code":"LIMIT_EXCEEDED","message":"Daily limit exceeded"}
refused! 422 {"code":"LIMIT_EXCEEDED"}
refused! 422 {"code":"PAYMENT_REJECTED","message":"Account is closed."}
refused! 403 {"code":403,"message":"Forbidden"}
refused! 404 {"message":"Account not found"}
refused 400 {"code":"INVALID_IBAN","message":"IBAN ist falsch"}
refused! 400 {"code":"INVALID_IBAN","message":"Invalid IBAN"}
refused! 422 {"message":"The account has been blocked; insufficient funds."}
refused! 422 {"message":"Invalid currency","request_id":"r-1"}
unknowable 403 {"message":"Limit exceeded; the payment was forwarded"}
unknowable 422 {"code":"LIMIT_EXCEEDED","transactionId":"T"}
unknowable 422 {"message":"Transaction is closed"}
unknowable 422 {"code":"PAYMENT_REJECTED","message":"Already executed"}
unknowable 422 {"code":"E17","message":"Insufficient funds"}
unknowable 422 {"code":"DUPLICATE_PAYMENT"}
unknowable 422 {"reasonCode":"AM05"}
unknowable 409 {"message":"Account not found"}
unknowable 410 {"message":"Account not found"}
unknowable 423 {"message":"Account locked"}
unknowable 404 {"message":"Payment not found"}
unknowable 404 {"message":"Transaction not found, account closed"}
executed! 200 {"id":"T"}
executed! 200 {"transaction_id":"T","status":"COMPLETED"}
executed! 200 {"id":"T","status":"COMPLETED","links":[]}
put executed! 200 {"transaction-requests":[{"id":"T","type":"SANDBOX_TAN","status":"COMPLETED","challenges":[],"body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"}}]}
put executed! 200 {"id":"T","type":"SANDBOX_TAN","status":"COMPLETED","challenges":[],"body":{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"}}
unknowable 200 {"id":"T","status":"PENDING"}
unknowable 200 {"id":"T","rejected_date":"2026-01-01"}
unknowable 200 <html></html>
put unknowable 200 {}
put unknowable 200 {"transaction-requests":[{"status":"COMPLETED","body":{"to":{"account_id":"y"}}}]}
refused! 200 {"id":"T","status":"REJECTED"}
refused 422 {"code":"INSUFFICIENT_FUNDS","message":"anything"}
unknowable 403 {"code":"FORBIDDEN","message":"Το κείμενο σε άλλη γλώσσα"}
unknowable 400 {"message":"Bad Request"}
unknowable 500 {"message":"Account not found"}`,
};

/** Texts that banks write in 4xx answers, by what truly happened to the payment: one text in each of several languages. */
const texts: Readonly<Record<'executed' | 'unknowable' | 'refused', readonly string[]>> = {
  executed: [
    'The payment has already been executed',
    'Zahlung wurde bereits ausgeführt',
    'Pago ya procesado',
    'Le paiement a déjà été exécuté',
    'Il pagamento è già stato eseguito',
    'O pagamento já foi executado',
    'De betaling is al uitgevoerd',
    'Płatność została już wykonana',
    'Η πληρωμή έχει ήδη εκτελεστεί',
    'Ödeme zaten gerçekleştirildi',
    'Платёж уже исполнен',
    'この支払いは既に処理されています',
    'تم تنفيذ الدفع بالفعل',
  ],
  unknowable: [
    'Payment is in progress',
    'Zahlung wird bearbeitet',
    'Pago en curso',
    'Paiement en cours',
    'Pagamento in corso',
    'Pagamento em processamento',
    'Betaling wordt verwerkt',
    'Płatność w toku',
    'Η πληρωμή βρίσκεται σε εξέλιξη',
    'Ödeme işleniyor',
    'Платёж обрабатывается',
    '支払いは処理中です',
    'الدفع قيد المعالجة',
  ],
  refused: [
    'You cannot pay from this account today',
    'Das Konto ist nicht gedeckt',
    'Saldo insuficiente',
    'Solde insuffisant',
    'Saldo non sufficiente',
    'Saldo insuficiente na conta',
    'Onvoldoende saldo',
    'Niewystarczające środki',
    'Ανεπαρκές υπόλοιπο',
    'Yetersiz bakiye',
    'Недостаточно средств',
    '残高不足',
    'الرصيد غير كاف',
  ],
};

export interface BankAnswer {
  readonly api: string;
  readonly truth: 'executed' | 'refused' | 'unknowable';
  readonly isClear: boolean;
  readonly isPut: boolean;
  readonly status: number;
  readonly body: string;
}

const line = /^(put )?(executed|refused|unknowable)(!?) (\d{3}) ?(.*)$/;

export const bankAnswers: readonly BankAnswer[] = [
  ...Object.entries(answersByApi).flatMap(([api, lines]) =>
    lines
      .trimStart()
      .split('\n')
      .map((text): BankAnswer => {
        const [, put, truth, clear, status, body = ''] = line.exec(text) ?? [];
        if (truth !== 'executed' && truth !== 'refused' && truth !== 'unknowable')
          throw new Error(`No answer: ${text}`);
        return { api, truth, isClear: clear === '!', isPut: put !== undefined, status: Number(status), body };
      }),
  ),
  ...(['executed', 'unknowable', 'refused'] as const).flatMap((truth) =>
    texts[truth].flatMap((message, index) => {
      const api = 'Texts in many languages';
      const about = { api, truth, isClear: false, isPut: index % 2 === 1 };
      return [
        { ...about, status: 422, body: JSON.stringify({ message }) },
        { ...about, status: 400, body: JSON.stringify({ code: 'PAYMENT_REJECTED', message }) },
        { ...about, status: 200, body: JSON.stringify({ id: 'T', message }) },
      ];
    }),
  ),
];
