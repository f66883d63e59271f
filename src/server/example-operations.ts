/** The operations that GraphiQL opens with, one a tab. They run as they are against the sandbox bank. */
export const exampleOperations: readonly string[] = [
  `# An account, who owns it, whom it pays and what was
# asked of it: one request, seven REST calls. The headers
# below say who asks: alice, a customer of the sandbox.
query Overview {
  bank {
    account(accountId: "alice-current") {
      label
      iban
      balance { amount currency }
      owners { legalName email }
      otherAccounts(first: 3) {
        totalCount
        nodes { otherAccountId iban holder { name } }
      }
      transactionRequests(first: 1) {
        nodes {
          status
          value { amount currency }
          to { accountId }
          transactions {
            transactionId
            details {
              description
              value { amount currency }
            }
          }
        }
      }
    }
  }
}
`,
  `# The caller, and the bank's messages to her.
query Me {
  bank {
    customer(customerId: "alice") {
      legalName
      email
      mobilePhoneNumber
      stringValues { key value }
    }
    messages {
      totalCount
      nodes { date fromDepartment message }
    }
  }
}
`,
  `# What the bank offers to everybody. To see the next
# page, give endCursor to branches(first: 5, after: "…").
query Bank {
  bank {
    bankId
    branches(first: 5) {
      totalCount
      nodes {
        branchId
        name
        address { city country }
        lobby { is24Hours }
      }
      pageInfo { hasNextPage endCursor }
    }
    product(productId: "current-plus") {
      name
      category
      moreInfoUrl
    }
  }
}
`,
  `# A transaction and both its ends. Whatever has an id
# can be read again with node(id: "…").
query Transaction {
  bank {
    account(accountId: "alice-current") {
      transaction(transactionId: "tx-0001") {
        id
        details {
          description
          posted
          value { amount currency }
          newBalance { amount currency }
        }
        metadata { narrative tags where }
        thisAccount { label }
        otherAccount { bankName iban holder { name } }
      }
    }
  }
}
`,
  `# Moves money, at most once for a key: run it twice, and
# the second answer says "replayed": true.
mutation Pay {
  makeTransaction(
    input: {
      accountId: "alice-current"
      to: { bankId: "SNDBCY2N", accountId: "bob-current" }
      value: { amount: "12.50", currency: "EUR" }
      description: "Two coffees"
      idempotencyKey: "a-new-one-for-each-payment"
    }
  ) {
    replayed
    transactionId
    status
    from {
      account {
        balance { amount currency }
      }
    }
  }
}
`,
  `# What became of a payment. Sends nothing to the bank.
query Payment {
  payment(idempotencyKey: "a-new-one-for-each-payment") {
    state
    transactionId
    value { amount currency }
    createdAt
  }
}
`,
];
