// What a walk through every operation asks for, in an order in which each succeeds.
import { aLoggedInUser, aPerson, aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { lastMessageTo } from '../harness/messages.js';
import {
  aNumber,
  aUserWithPhone,
  emailProof,
  page,
  phoneProof,
  recoveryProof,
  removalProof,
} from '../proofs/proofs.js';

/** [operation, method, path, body, who calls where that is not settled by the walk] */
export type Step = [string, string, string, unknown?, Client?];

const collection = '/databases/db/collections/articles';
const attributeTypes: readonly [string, object][] = [
  ['String', { size: 100 }],
  ['Varchar', { size: 100 }],
  ['Text', {}],
  ['Mediumtext', {}],
  ['Longtext', {}],
  ['Integer', { min: 0 }],
  ['BigInt', { min: 0 }],
  ['Float', {}],
  ['Boolean', {}],
  ['Datetime', {}],
  ['Email', {}],
  ['Url', {}],
  ['Ip', {}],
  ['Enum', { elements: ['a', 'b'] }],
];

const incremented = {
  ...{ databaseId: 'db', collectionId: 'articles', documentId: 'first' },
  ...{ action: 'increment', data: { attribute: 'Integer' } },
};

/** Every operation on databases, collections, attributes, indexes and documents, and GraphQL, in an order in which each can succeed. */
export const documentWalk: readonly Step[] = [
  ['databases_create', 'POST', '/databases', { databaseId: 'db', name: 'Blog' }],
  ['databases_list', 'GET', '/databases'],
  ['databases_get', 'GET', '/databases/db'],
  ['databases_update', 'PUT', '/databases/db', { name: 'Magazine' }],
  ['databases_createCollection', 'POST', '/databases/db/collections', { collectionId: 'articles', name: 'Articles' }],
  ['databases_listCollections', 'GET', '/databases/db/collections'],
  ['databases_getCollection', 'GET', collection],
  ['databases_updateCollection', 'PUT', collection, { name: 'Posts', permissions: ['read("any")'] }],
  ...attributeTypes.flatMap(([type, more]): [string, string, string, unknown][] => {
    const path = `${collection}/attributes/${type.toLowerCase()}`;
    return [
      [`databases_create${type}Attribute`, 'POST', path, { key: type, required: false, ...more }],
      [`databases_update${type}Attribute`, 'PATCH', `${path}/${type}`, { required: false, default: null, ...more }],
    ];
  }),
  ['databases_listAttributes', 'GET', `${collection}/attributes`],
  ['databases_getAttribute', 'GET', `${collection}/attributes/String`],
  ['databases_createIndex', 'POST', `${collection}/indexes`, { key: 'by-text', type: 'key', attributes: ['String'] }],
  ['databases_listIndexes', 'GET', `${collection}/indexes`],
  ['databases_getIndex', 'GET', `${collection}/indexes/by-text`],
  [
    'documents_create',
    'POST',
    `${collection}/documents`,
    { documentId: 'first', data: { String: 'Hello', Integer: 1 } },
  ],
  ['documents_list', 'GET', `${collection}/documents`],
  ['documents_get', 'GET', `${collection}/documents/first`],
  ['documents_update', 'PATCH', `${collection}/documents/first`, { data: { Boolean: true } }],
  ['documents_upsert', 'PUT', `${collection}/documents/first`, { data: { Boolean: false } }],
  ['documents_increment', 'PATCH', `${collection}/documents/first/Integer/increment`, { value: 2 }],
  ['documents_decrement', 'PATCH', `${collection}/documents/first/Integer/decrement`, { value: 2 }],
  ['documents_upsertAll', 'PUT', `${collection}/documents`, { documents: [{ $id: 'second', Integer: 1 }] }],
  ['documents_updateAll', 'PATCH', `${collection}/documents`, { data: { Integer: 2 } }],
  [
    'documents_deleteAll',
    'DELETE',
    `${collection}/documents`,
    { queries: ['{"method":"equal","attribute":"$id","values":["second"]}'] },
  ],
  ['graphql_post', 'POST', '/graphql', { query: '{ collectionList(databaseId: "db") { total } }' }],
  ['graphql_mutation', 'POST', '/graphql/mutation', { query: { query: '{ __typename }' } }],
  ['graphql_get', 'GET', `/graphql?query=${encodeURIComponent('{ __typename }')}`],
  ['databases_createTransaction', 'POST', '/databases/transactions', { ttl: 60 }],
  ['databases_listTransactions', 'GET', '/databases/transactions'],
  ['databases_getTransaction', 'GET', '/databases/transactions/LAST'],
  ['databases_createOperations', 'POST', '/databases/transactions/LAST/operations', { operations: [incremented] }],
  ['databases_updateTransaction', 'PATCH', '/databases/transactions/LAST', { commit: true }],
  ['databases_deleteTransaction', 'DELETE', '/databases/transactions/LAST'],
  ['documents_delete', 'DELETE', `${collection}/documents/first`],
  [
    'databases_createRelationshipAttribute',
    'POST',
    `${collection}/attributes/relationship`,
    { relatedCollectionId: 'articles', type: 'oneToMany', key: 'Parts' },
  ],
  [
    'databases_updateRelationshipAttribute',
    'PATCH',
    `${collection}/attributes/relationship/Parts`,
    { onDelete: 'setNull' },
  ],
  [
    'databases_updateRelationshipAttribute__databases_databaseId_collections_collectionId_attributes_key_relationship',
    'PATCH',
    `${collection}/attributes/Parts/relationship`,
    { onDelete: 'cascade' },
  ],
  ['databases_deleteIndex', 'DELETE', `${collection}/indexes/by-text`],
  ['databases_deleteAttribute', 'DELETE', `${collection}/attributes/String`],
  ['databases_deleteCollection', 'DELETE', collection],
  ['databases_delete', 'DELETE', '/databases/db'],
];

/** Every operation on webhooks; `LAST` is the delivery of the test. */
/** Every operation on webhooks, by a server key; `LAST` is the delivery of the test. */
export const webhookWalk: readonly Step[] = [
  [
    'webhooks_create',
    'POST',
    '/webhooks',
    { webhookId: 'hook', name: 'Hook', url: 'https://hook.example', events: ['*'] },
  ],
  ['webhooks_list', 'GET', '/webhooks'],
  ['events_list', 'GET', '/events'],
  ['webhooks_get', 'GET', '/webhooks/hook'],
  ['webhooks_update', 'PUT', '/webhooks/hook', { name: 'Other' }],
  ['webhooks_rotateSecret', 'POST', '/webhooks/hook/secret'],
  ['webhooks_updateSecret', 'PATCH', '/webhooks/hook/secret'],
  ['webhooks_test', 'POST', '/webhooks/hook/test'],
  ['webhooks_listDeliveries', 'GET', '/webhooks/hook/deliveries'],
  ['webhooks_replayDelivery', 'POST', '/webhooks/hook/deliveries/LAST/replay'],
  ['webhooks_delete', 'DELETE', '/webhooks/hook'],
];

/** Every way in but the password. */
export async function loginWalk(key: Client): Promise<Step[]> {
  let addresses = 0;
  const byMail = () => ({ userId: 'unique()', email: `walk${addresses++}@mail.example` });
  const byPhone = () => ({ userId: 'unique()', phone: `+141555501${10 + addresses++}` });
  const issued = async (path: string, request: object) => {
    const { userId, secret } = (await key.post(path, request)).expect(201).body;
    return { userId, secret };
  };
  const [link, code, phone] = ['/account/tokens/magic-url', '/account/tokens/email', '/account/tokens/phone'] as const;
  return [
    ['account_createAnonymousSession', 'POST', '/account/sessions/anonymous'],
    ['account_createMagicURLToken', 'POST', link, byMail()],
    ['account_createMagicURLToken__account_sessions_magic_url', 'POST', '/account/sessions/magic-url', byMail()],
    ['account_createEmailToken', 'POST', code, byMail()],
    ['account_createPhoneToken', 'POST', phone, byPhone()],
    ['account_createPhoneToken__account_sessions_phone', 'POST', '/account/sessions/phone', byPhone()],
    ['account_createSession', 'POST', '/account/sessions/token', await issued(code, byMail())],
    ['account_updateMagicURLSession', 'PUT', '/account/sessions/magic-url', await issued(link, byMail())],
    ['account_updatePhoneSession', 'PUT', '/account/sessions/phone', await issued(phone, byPhone())],
  ];
}

/** Every operation on teams, in the name of an owner; somebody had been invited. */
export async function teamWalk(target: TestAppliance): Promise<Step[]> {
  const { client } = await aLoggedInUser(target);
  const [guests, url] = [aPerson().email, 'http://localhost/join'];
  (await client.post('/teams', { teamId: 'crew', name: 'Crew' })).expect(201);
  (await client.post('/teams/crew/memberships', { email: guests, roles: [], url })).expect(201);
  const mail = await lastMessageTo(target, guests);
  const { searchParams } = new URL(String(mail.locals.link));
  const { userId, secret, membershipId } = Object.fromEntries(searchParams);
  const invited = `/teams/crew/memberships/${membershipId}`;
  const invitation = { email: aPerson().email, roles: ['reader'], url };
  return [
    ['teams_create', 'POST', '/teams', { teamId: 'team', name: 'Team' }, client],
    ['teams_list', 'GET', '/teams?search=te', undefined, client],
    ['teams_get', 'GET', '/teams/team', undefined, client],
    ['teams_updateName', 'PUT', '/teams/team', { name: 'Other' }, client],
    ['teams_updatePrefs', 'PUT', '/teams/team/prefs', { prefs: { a: 1 } }, client],
    ['teams_getPrefs', 'GET', '/teams/team/prefs', undefined, client],
    ['teams_createMembership', 'POST', '/teams/team/memberships', invitation, client],
    ['teams_listMemberships', 'GET', '/teams/crew/memberships', undefined, client],
    ['teams_updateMembershipStatus', 'PATCH', `${invited}/status`, { userId, secret }],
    ['teams_getMembership', 'GET', invited, undefined, client],
    ['teams_updateMembership', 'PATCH', invited, { roles: ['reader'] }, client],
    ['users_listMemberships', 'GET', `/users/${mail.userId}/memberships`, undefined, (await aServerKey(target)).client],
    ['teams_deleteMembership', 'DELETE', invited, undefined, client],
    ['teams_delete', 'DELETE', '/teams/crew', undefined, client],
  ];
}
const someone = '/users/walker';
const argon2 = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
const imported = (userId: string, password: string) => ({ userId, email: `${userId}@mail.example`, password });
const salted = { passwordCpu: 2, passwordMemory: 1, passwordParallel: 1, passwordLength: 16 };

/** Every operation on users by server keys; `LAST` is the session of the test. */
export const userWalk: readonly Step[] = [
  ['users_create', 'POST', '/users', { userId: 'walker', email: 'walker@mail.example', phone: '+14155550100' }],
  ['users_list', 'GET', '/users?search=walker'],
  ['users_get', 'GET', someone],
  ['users_updateName', 'PATCH', `${someone}/name`, { name: 'Walker' }],
  ['users_updateEmail', 'PATCH', `${someone}/email`, { email: 'strider@mail.example' }],
  ['users_updatePhone', 'PATCH', `${someone}/phone`, { number: '+14155550101' }],
  ['users_updatePassword', 'PATCH', `${someone}/password`, { password: 'a fine password' }],
  ['users_updateLabels', 'PUT', `${someone}/labels`, { labels: ['vip'] }],
  ['users_updateStatus', 'PATCH', `${someone}/status`, { status: true }],
  ['users_updateEmailVerification', 'PATCH', `${someone}/verification`, { emailVerification: true }],
  ['users_updatePhoneVerification', 'PATCH', `${someone}/verification/phone`, { phoneVerification: true }],
  ['users_updatePrefs', 'PATCH', `${someone}/prefs`, { prefs: { theme: 'dark' } }],
  ['users_getPrefs', 'GET', `${someone}/prefs`],
  ['users_updateMfa', 'PATCH', `${someone}/mfa`, { mfa: false }],
  ['users_listMfaFactors', 'GET', `${someone}/mfa/factors`],
  ['users_createMfaRecoveryCodes', 'PATCH', `${someone}/mfa/recovery-codes`],
  ['users_getMfaRecoveryCodes', 'GET', `${someone}/mfa/recovery-codes`],
  ['users_updateMfaRecoveryCodes', 'PUT', `${someone}/mfa/recovery-codes`],
  ['users_createJWT', 'POST', `${someone}/jwts`, {}],
  ['users_listLogs', 'GET', `${someone}/logs`],
  ['users_createSession', 'POST', `${someone}/sessions`],
  ['users_listSessions', 'GET', `${someone}/sessions`],
  ['users_deleteSession', 'DELETE', `${someone}/sessions/LAST`],
  ['users_deleteSessions', 'DELETE', `${someone}/sessions`],
  ['users_createToken', 'POST', `${someone}/tokens`, { length: 32 }],
  [
    'users_createTarget',
    'POST',
    `${someone}/targets`,
    { targetId: 'phone', providerType: 'push', identifier: 'device' },
  ],
  ['users_listTargets', 'GET', `${someone}/targets`],
  ['users_getTarget', 'GET', `${someone}/targets/phone`],
  ['users_updateTarget', 'PATCH', `${someone}/targets/phone`, { name: 'Old phone' }],
  ['users_deleteTarget', 'DELETE', `${someone}/targets/phone`],
  ['users_listIdentities', 'GET', '/users/identities'],
  ['users_delete', 'DELETE', someone],
  [
    'users_createBcryptUser',
    'POST',
    '/users/bcrypt',
    imported('bcrypt', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'),
  ],
  ['users_createArgon2User', 'POST', '/users/argon2', imported('argon2', argon2)],
  ['users_createMd5User', 'POST', '/users/md5', imported('md5', 'f96b697d7cb7938d525a2f31aaf161d0')],
  ['users_createPhpassUser', 'POST', '/users/phpass', imported('phpass', '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0')],
  ['users_createShaUser', 'POST', '/users/sha', { ...imported('sha', '0'.repeat(64)), passwordVersion: 'sha256' }],
  [
    'users_createScryptUser',
    'POST',
    '/users/scrypt',
    { ...imported('scrypt', '0'.repeat(32)), ...salted, passwordSalt: 'salt' },
  ],
  [
    'users_createScryptModifiedUser',
    'POST',
    '/users/scrypt-modified',
    {
      ...imported('firebase', `${'A'.repeat(86)}==`),
      ...{ passwordSalt: 'AAAA', passwordSaltSeparator: 'Bw==', passwordSignerKey: `${'A'.repeat(86)}==` },
    },
  ],
];

/** Operations that the interface has and this service always refuses, and those that succeed only where an identity provider takes part. */
export const neverGranted = [
  'users_updateImpersonator',
  // test/oauth2/flows.test.ts
  ...['account_createOAuth2Session', 'account_createOAuth2Token', 'account_completeOAuth2'],
  ...['account_createSamlSession', 'account_completeSaml', 'account_getSamlMetadata'],
  ...['account_completePostedOAuth2', 'users_deleteIdentity'],
];

/** Verification and recovery, each address of each operation, and the details of an account. */
export async function proofWalk(target: TestAppliance): Promise<Step[]> {
  const [user, other] = [await aUserWithPhone(target), await aUserWithPhone(target)];
  const email = '/account/verifications/email';
  const phone = '/account/verifications/phone';
  const { client, password } = await aLoggedInUser(target);
  const removal = await removalProof(target, await aLoggedInUser(target));
  return [
    ['account_deleteEmailVerification', 'DELETE', email, removal],
    ['account_updateEmailVerification', 'PUT', email, await emailProof(target, user)],
    [
      'account_updateEmailVerification__account_verification',
      'PUT',
      '/account/verification',
      await emailProof(target, other),
    ],
    ['account_updatePhoneVerification', 'PUT', phone, await phoneProof(target, user)],
    [
      'account_updatePhoneVerification__account_verification_phone',
      'PUT',
      '/account/verification/phone',
      await phoneProof(target, other),
    ],
    ['account_createEmailVerification', 'POST', email, { url: page }, client],
    ['account_createEmailVerification__account_verification', 'POST', '/account/verification', { url: page }, client],
    ['account_updatePhone', 'PATCH', '/account/phone', { phone: aNumber(), password }, client],
    ['account_createPhoneVerification', 'POST', phone, undefined, client],
    [
      'account_createPhoneVerification__account_verification_phone',
      'POST',
      '/account/verification/phone',
      undefined,
      client,
    ],
    ['account_createRecovery', 'POST', '/account/recovery', { email: other.email, url: page }],
    [
      'account_updateRecovery',
      'PUT',
      '/account/recovery',
      { ...(await recoveryProof(target, user)), password: 'a recovered one' },
    ],
    ['account_listLogs', 'GET', '/account/logs', undefined, client],
    ['account_listIdentities', 'GET', '/account/identities', undefined, client],
    ['account_deleteIdentity', 'DELETE', '/account/identities/none', undefined, client],
  ];
}

const tableNames: readonly (readonly [RegExp, string])[] = [
  [/^\/databases/, '/tablesdb'],
  [/\/collections/, '/tables'],
  [/\/documents/, '/rows'],
  [/\/attributes/, '/columns'],
];
const tableMembers: Readonly<Record<string, string>> = {
  ...{ collectionId: 'tableId', documentId: 'rowId', documents: 'rows', attributes: 'columns' },
  relatedCollectionId: 'relatedTableId',
};

function tableBody(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      tableMembers[name] ?? name,
      name === 'operations' ? value.map(tableBody) : value,
    ]),
  );
}

/** The same operations below `/tablesdb`, under its names. */
export const tableWalk: readonly Step[] = documentWalk
  .filter(([id]) => !id.startsWith('graphql'))
  .map(([id, method, path, body]) => [
    id
      .replace(/^databases/, 'tablesdb')
      .replace(/^documents/, 'rows')
      .replace('Collection', 'Table')
      .replace('Attribute', 'Column')
      .replace(
        '__databases_databaseId_collections_collectionId_attributes',
        '__tablesdb_databaseId_tables_tableId_columns',
      ),
    method,
    tableNames.reduce((text, [old, name]) => text.replace(old, name), path),
    tableBody(body),
  ]);
