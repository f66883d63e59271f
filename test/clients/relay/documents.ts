// The texts from which relay-compiler generates its artifacts. A plugin of an app's build would replace these texts.
declare const graphql: (text: TemplateStringsArray) => unknown;

export const documents = () => [
  graphql`
    query documentsBalanceQuery {
      viewer {
        account {
          id
          label
          balance {
            amount
            currency
          }
        }
      }
    }
  `,
  graphql`
    query documentsNodeQuery($id: ID!) {
      node(id: $id) {
        ... on Account {
          label
        }
      }
    }
  `,
  graphql`
    query documentsBranchesQuery($after: String) {
      bank {
        branches(first: 10, after: $after) @connection(key: "documents_branches") {
          edges {
            node {
              branchId
            }
          }
        }
      }
    }
  `,
  graphql`
    mutation documentsTransferMutation($input: MakeTransactionInput!) {
      makeTransaction(input: $input) {
        payment {
          id
          account {
            id
            balance {
              amount
            }
          }
        }
      }
    }
  `,
];
