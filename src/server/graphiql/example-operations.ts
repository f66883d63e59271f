/**
 * The operations that GraphiQL opens with, one a tab. They run as they are against the sandbox bank; their comments fit
 * beside the panel of calls in a window of 1280.
 */
export const exampleOperations: readonly string[] = [
  `# Who is logged in, their accounts,
# whom they pay, what was asked of
# them, in nine REST calls. The
# headers below say who asks: alice,
# a customer of the sandbox.
query Overview {
  viewer {
    customer { legalName }
    accounts {
      nodes {
        label
        iban
        balance { amount currency }
        transactionRequests {
          nodes {
            status
            value { amount currency }
            from { account { label } }
            to { accountId }
          }
        }
      }
    }
    account {
      owners { email }
      otherAccounts(first: 3) {
        totalCount
        nodes { otherAccountId iban holder { name } }
      }
    }
  }
}
`,
  `# The caller, and the bank's
# messages to her.
query Me {
  viewer {
    customer {
      customerId
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
  `# What the bank offers to all. To
# see the next page, give endCursor
# to branches(first: 5, after: "…").
query Bank {
  bank {
    bankId
    branches(
      near: { latitude: 35.17, longitude: 33.36 }
      orderBy: DISTANCE
      first: 5
    ) {
      totalCount
      nodes {
        branchId
        name
        distanceKm(from: { latitude: 35.17, longitude: 33.36 })
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
  `# A transaction and both its ends.
# Whatever has an id can be read
# again with node(id: "…").
query Transaction {
  viewer {
    account {
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
  `# Moves money, at most once for a
# key: run it twice, and the second
# answer says "replayed": true.
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
    status
    transaction {
      details { description newBalance { amount currency } }
    }
    from {
      account {
        balance { amount currency }
      }
    }
  }
}
`,
  `# What became of a payment: a
# record of bankql's own. Only its
# transaction is read of the bank.
query Payment {
  payment(idempotencyKey: "a-new-one-for-each-payment") {
    id
    state
    value { amount currency }
    createdAt
    transaction { transactionId details { status } }
  }
}
`,
];
