/** The operations that GraphiQL opens with, one a tab. They run as they are against the sandbox bank. */
export const exampleOperations: readonly string[] = [
  `# An account with its owners, its counterparties and what was asked of it: one request, seven REST calls.
# Press the play button. The headers below say who asks: alice, a customer of the sandbox bank.
query Overview {
  bank {
    account(accountId: "alice-current") {
      label
      iban
      balance { amount currency }
      owners { legalName email }
      otherAccounts(first: 3) {
        totalCount
        nodes { otherAccountId holder { name } iban }
      }
      transactionRequests {
        nodes {
          status
          value { amount currency }
          to { accountId }
          transactions { transactionId details { description value { amount currency } } }
        }
      }
    }
  }
}
`,
  `# The caller and the messages of the bank. Alice may read carol: they share an account.
query Me {
  bank {
    customer(customerId: "alice") { legalName email mobilePhoneNumber stringValues { key value } banks { bankId } }
    messages { totalCount nodes { date fromDepartment message } }
  }
}
`,
  `# What the bank offers to everybody. Follow endCursor with branches(first: 5, after: "…").
query Bank {
  bank {
    bankId
    branches(first: 5) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { branchId name address { city country } lobby { is24Hours } }
    }
    product(productId: "current-plus") { name family category moreInfoUrl }
  }
}
`,
  `# One transaction with both its ends. Any id that is answered can be given to node(id: …).
query Transaction {
  bank {
    account(accountId: "alice-current") {
      transaction(transactionId: "tx-0001") {
        id
        details { description posted value { amount currency } newBalance { amount currency } }
        metadata { narrative tags where }
        thisAccount { label }
        otherAccount { holder { name } iban bankName }
      }
    }
  }
}
`,
  `# Moves money, at most once for a key: run it twice, and the second answer says "replayed": true.
mutation Pay {
  makeTransaction(
    input: {
      accountId: "alice-current"
      to: { bankId: "SNDBCY2N", accountId: "bob-current" }
      value: { amount: "12.50", currency: "EUR" }
      description: "Two coffees"
      idempotencyKey: "choose-a-new-one-for-each-payment"
    }
  ) {
    replayed
    transactionId
    status
    from { account { balance { amount currency } } }
  }
}
`,
  `# What became of a payment. Sends nothing to the bank.
query Payment {
  payment(idempotencyKey: "choose-a-new-one-for-each-payment") {
    state
    transactionId
    value { amount currency }
    createdAt
  }
}
`,
];
