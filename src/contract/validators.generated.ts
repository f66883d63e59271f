// Printed by `npm run contract` from the shapes beside it: change those.
import { isDecimal, isIdList } from './common-schemas.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const putCustomerID = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.bank_id == null || (Array.isArray(v.bank_id) && v.bank_id.every((v2) => typeof v2 === 'string')))
  && (v.customer_number == null || typeof v.customer_number === 'string')
  && (v.date_values == null || (Array.isArray(v.date_values) && v.date_values.every((v2) => (typeof v2 === 'object' && v2 !== null && !Array.isArray(v2)
      && typeof v2.key === 'string'
      && (v2.string == null || typeof v2.string === 'string')))))
  && (v.email == null || typeof v.email === 'string')
  && (v.face_image == null || (typeof v.face_image === 'object' && v.face_image !== null && !Array.isArray(v.face_image)
    && typeof v.face_image.name === 'string'))
  && (v.legal_name == null || typeof v.legal_name === 'string')
  && (v.mobile_phone_number == null || typeof v.mobile_phone_number === 'string')
  && (v.numeric_values == null || (Array.isArray(v.numeric_values) && v.numeric_values.every((v2) => (typeof v2 === 'object' && v2 !== null && !Array.isArray(v2)
      && typeof v2.key === 'string'
      && (v2.string == null || typeof v2.string === 'string')))))
  && (v.string_values == null || (Array.isArray(v.string_values) && v.string_values.every((v2) => (typeof v2 === 'object' && v2 !== null && !Array.isArray(v2)
      && typeof v2.key === 'string'
      && (v2.string == null || typeof v2.string === 'string')))))
  && (v.metadata == null || (Array.isArray(v.metadata) && v.metadata.every((v2) => typeof v2 === 'string'))));

const putBranchID = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && typeof v.acceptsDeposits === 'boolean'
  && (v.address == null || (typeof v.address === 'object' && v.address !== null && !Array.isArray(v.address)
    && typeof v.address.city === 'string'
    && (v.address.country == null || typeof v.address.country === 'string')
    && (v.address.line_1 == null || typeof v.address.line_1 === 'string')
    && (v.address.line_2 == null || typeof v.address.line_2 === 'string')
    && (v.address.line_3 == null || typeof v.address.line_3 === 'string')
    && (v.address.postcode == null || typeof v.address.postcode === 'string')
    && (v.address.state == null || typeof v.address.state === 'string')))
  && (v.bank == null || typeof v.bank === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.lobby == null || (typeof v.lobby === 'object' && v.lobby !== null && !Array.isArray(v.lobby)
    && typeof v.lobby.is24Hours === 'boolean'))
  && (v.location == null || (typeof v.location === 'object' && v.location !== null && !Array.isArray(v.location)
    && Number.isFinite(v.location.latitude)
    && (v.location.longitude == null || Number.isFinite(v.location.longitude))))
  && (v.meta == null || (typeof v.meta === 'object' && v.meta !== null && !Array.isArray(v.meta)
    && typeof v.meta.license === 'string'))
  && (v.name == null || typeof v.name === 'string'));

const putTransactionsRequestAccount = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.body == null || (typeof v.body === 'object' && v.body !== null && !Array.isArray(v.body)
    && (v.body.to == null || (typeof v.body.to === 'object' && v.body.to !== null && !Array.isArray(v.body.to)
      && (v.body.to.account_id == null || typeof v.body.to.account_id === 'string')
      && (v.body.to.bank_id == null || typeof v.body.to.bank_id === 'string')))
    && (v.body.value == null || (typeof v.body.value === 'object' && v.body.value !== null && !Array.isArray(v.body.value)
      && (v.body.value.currency == null || typeof v.body.value.currency === 'string')
      && (v.body.value.amount == null || isDecimal(v.body.value.amount))))))
  && (v.challenge == null || typeof v.challenge === 'string')
  && (v.description == null || typeof v.description === 'string')
  && (v.end_date == null || typeof v.end_date === 'string')
  && (v.from == null || (typeof v.from === 'object' && v.from !== null && !Array.isArray(v.from)
    && (v.from.account_id == null || typeof v.from.account_id === 'string')
    && (v.from.bank_id == null || typeof v.from.bank_id === 'string')))
  && (v.resource_url == null || typeof v.resource_url === 'string')
  && (v.start_date == null || typeof v.start_date === 'string')
  && (v.status == null || typeof v.status === 'string')
  && (v.transaction_ids == null || isIdList(v.transaction_ids)));

const putAccountID = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.balance == null || (typeof v.balance === 'object' && v.balance !== null && !Array.isArray(v.balance)
    && (v.balance.currency == null || typeof v.balance.currency === 'string')
    && (v.balance.amount == null || isDecimal(v.balance.amount))))
  && (v.bank_id == null || typeof v.bank_id === 'string')
  && (v.IBAN == null || typeof v.IBAN === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.label == null || typeof v.label === 'string')
  && (v.number == null || typeof v.number === 'string')
  && (v.owners == null || (Array.isArray(v.owners) && v.owners.every((v2) => typeof v2 === 'string')))
  && (v.swift_bic == null || typeof v.swift_bic === 'string')
  && (v.type == null || (Array.isArray(v.type) && v.type.every((v2) => typeof v2 === 'string')))
  && (v.views_available == null || (Array.isArray(v.views_available) && v.views_available.every((v2) => typeof v2 === 'string'))));

const postOtherAccounts = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && typeof v.bank === 'string'
  && (v.holder == null || (typeof v.holder === 'object' && v.holder !== null && !Array.isArray(v.holder)
    && typeof v.holder.is_alias === 'boolean'
    && (v.holder.name == null || typeof v.holder.name === 'string')))
  && (v.IBAN == null || typeof v.IBAN === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.kind == null || typeof v.kind === 'string')
  && (v.number == null || typeof v.number === 'string')
  && (v.swift_bic == null || typeof v.swift_bic === 'string'));

const putProduct = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.bank_id == null || (Array.isArray(v.bank_id) && v.bank_id.every((v2) => typeof v2 === 'string')))
  && (v.category == null || typeof v.category === 'string')
  && (v.family == null || typeof v.family === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.meta == null || (Array.isArray(v.meta) && v.meta.every((v2) => typeof v2 === 'string')))
  && (v.more_info_url == null || typeof v.more_info_url === 'string')
  && (v.name == null || typeof v.name === 'string')
  && (v.super_family == null || typeof v.super_family === 'string'));

const postMakeTransaction = (v: Json): boolean =>
  typeof v === 'object' && v !== null && !Array.isArray(v);

const postMetadata = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && typeof v.code === 'string'
  && (v.id == null || typeof v.id === 'string')
  && (v.postedBy == null || typeof v.postedBy === 'string')
  && (v.text == null || (typeof v.text === 'object' && v.text !== null && !Array.isArray(v.text)
    && typeof v.text.name === 'string')));

const postProducts = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.bank_id == null || typeof v.bank_id === 'string')
  && (v.category == null || typeof v.category === 'string')
  && (v.family == null || typeof v.family === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.meta == null || (Array.isArray(v.meta) && v.meta.every((v2) => typeof v2 === 'string')))
  && (v.more_info_url == null || typeof v.more_info_url === 'string')
  && (v.name == null || typeof v.name === 'string')
  && (v.super_family == null || typeof v.super_family === 'string'));

const putCustomerMessage = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.from_department == null || typeof v.from_department === 'string')
  && (v.from_person == null || typeof v.from_person === 'string')
  && (v.message == null || typeof v.message === 'string')
  && (v.date == null || typeof v.date === 'string'));

const putTransactions = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (v.details == null || (typeof v.details === 'object' && v.details !== null && !Array.isArray(v.details)
    && (v.details.approved_by_ip_address == null || typeof v.details.approved_by_ip_address === 'string')
    && (v.details.approved_by_user_id == null || typeof v.details.approved_by_user_id === 'string')
    && (v.details.cancelled_by_ip_address == null || typeof v.details.cancelled_by_ip_address === 'string')
    && (v.details.cancelled_by_user_id == null || typeof v.details.cancelled_by_user_id === 'string')
    && (v.details.completed == null || typeof v.details.completed === 'string')
    && (v.details.description == null || typeof v.details.description === 'string')
    && (v.details.new_balance == null || (typeof v.details.new_balance === 'object' && v.details.new_balance !== null && !Array.isArray(v.details.new_balance)
      && (v.details.new_balance.currency == null || typeof v.details.new_balance.currency === 'string')
      && isDecimal(v.details.new_balance.amount)))
    && (v.details.paused_by_ip_address == null || typeof v.details.paused_by_ip_address === 'string')
    && (v.details.paused_by_user_id == null || typeof v.details.paused_by_user_id === 'string')
    && (v.details.posted == null || typeof v.details.posted === 'string')
    && (v.details.posted_by_ip_address == null || typeof v.details.posted_by_ip_address === 'string')
    && (v.details.posted_by_user_id == null || typeof v.details.posted_by_user_id === 'string')
    && (v.details.status == null || typeof v.details.status === 'string')
    && (v.details.type == null || typeof v.details.type === 'string')
    && (v.details.value == null || (typeof v.details.value === 'object' && v.details.value !== null && !Array.isArray(v.details.value)
      && (v.details.value.currency == null || typeof v.details.value.currency === 'string')
      && isDecimal(v.details.value.amount)))))
  && (v.id == null || typeof v.id === 'string')
  && (v.metadata == null || (typeof v.metadata === 'object' && v.metadata !== null && !Array.isArray(v.metadata)
    && (v.metadata.comments == null || typeof v.metadata.comments === 'string')
    && (v.metadata.narrative == null || typeof v.metadata.narrative === 'string')
    && (v.metadata.tags == null || typeof v.metadata.tags === 'string')
    && (v.metadata.where == null || typeof v.metadata.where === 'string')))
  && (v.other_account == null || typeof v.other_account === 'string')
  && (v.this_account == null || typeof v.this_account === 'string')
  && (v.uuid == null || typeof v.uuid === 'string'));

const getAccountsScope = (v: Json): boolean =>
  (typeof v === 'object' && v !== null && !Array.isArray(v)
  && (typeof v.balance === 'object' && v.balance !== null && !Array.isArray(v.balance)
    && (v.balance.currency == null || typeof v.balance.currency === 'string')
    && (v.balance.amount == null || isDecimal(v.balance.amount)))
  && (v.bank_id == null || typeof v.bank_id === 'string')
  && (v.IBAN == null || typeof v.IBAN === 'string')
  && (v.id == null || typeof v.id === 'string')
  && (v.label == null || typeof v.label === 'string')
  && (v.number == null || typeof v.number === 'string')
  && (v.owners == null || (Array.isArray(v.owners) && v.owners.every((v2) => typeof v2 === 'string')))
  && (v.swift_bic == null || typeof v.swift_bic === 'string')
  && (v.type == null || (Array.isArray(v.type) && v.type.every((v2) => typeof v2 === 'string')))
  && (v.views_available == null || (Array.isArray(v.views_available) && v.views_available.every((v2) => typeof v2 === 'string'))));

/**
 * Whether a record, or an entry of a list, keeps the shape of its operation's answers: by the operation's id. The record is a value
 * that JSON.parse made.
 */
export const validators = {
  putCustomerID,
  putBranchID,
  putTransactionsRequestAccount,
  putAccountID,
  postBranches: putBranchID,
  postOtherAccounts,
  putProduct,
  postMakeTransaction,
  postMetadata,
  postProducts,
  putCustomerMessage,
  putTransactions,
  getAccountsScope,
  getTransaction: putTransactions,
  getTransactionsRequest: putTransactionsRequestAccount,
  getCustomer: putCustomerID,
  getBranches: putBranchID,
  getOtherAccounts: postOtherAccounts,
  getMessagesOwner: putCustomerMessage,
  getProduct: putProduct,
} as Readonly<Record<string, (record: unknown) => boolean>>;
