/** transactionRecord's details as GraphQL answers them. */
export const wholeDetails = {
  approvedByIpAddress: 'approved-by-ip',
  approvedByUserId: 'approved-by-user',
  cancelledByIpAddress: 'cancelled-by-ip',
  cancelledByUserId: 'cancelled-by-user',
  completed: 'completed',
  description: 'details-description',
  newBalance: { currency: 'new-balance-currency', amount: '100.10' },
  pausedByIpAddress: 'paused-by-ip',
  pausedByUserId: 'paused-by-user',
  posted: 'posted',
  postedByIpAddress: 'posted-by-ip',
  postedByUserId: 'posted-by-user',
  status: 'details-status',
  type: 'details-type',
  value: { currency: 'value-currency', amount: '-0.010' },
};

export const emptyDetails = Object.fromEntries(Object.keys(wholeDetails).map((name) => [name, null]));

/** Every field of TransactionInput, and what goes over the wire for it. */
export const fullInput = {
  details: {
    approvedByIpAddress: 'a-ip',
    approvedByUserId: 'a-user',
    cancelledByIpAddress: 'c-ip',
    cancelledByUserId: 'c-user',
    completed: 'done',
    description: 'text',
    newBalance: { amount: '1.10', currency: 'N' },
    pausedByIpAddress: 'p-ip',
    pausedByUserId: 'p-user',
    posted: 'then',
    postedByIpAddress: 'po-ip',
    postedByUserId: 'po-user',
    status: 's',
    type: 't',
    value: { amount: '-2.20', currency: 'V' },
  },
  id: 'i',
  metadata: { comments: 'c', narrative: 'n', tags: 'g', where: 'w' },
  otherAccountId: 'o',
  thisAccountId: 'th',
  uuid: 'u',
};

export const fullInputSent = {
  details: {
    approved_by_ip_address: 'a-ip',
    approved_by_user_id: 'a-user',
    cancelled_by_ip_address: 'c-ip',
    cancelled_by_user_id: 'c-user',
    completed: 'done',
    description: 'text',
    new_balance: { amount: { number: '1.10' }, currency: 'N' },
    paused_by_ip_address: 'p-ip',
    paused_by_user_id: 'p-user',
    posted: 'then',
    posted_by_ip_address: 'po-ip',
    posted_by_user_id: 'po-user',
    status: 's',
    type: 't',
    value: { amount: { number: '-2.20' }, currency: 'V' },
  },
  id: 'i',
  metadata: { comments: 'c', narrative: 'n', tags: 'g', where: 'w' },
  other_account: 'o',
  this_account: 'th',
  uuid: 'u',
};
