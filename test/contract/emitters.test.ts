// Who announces what: every operation that can announce an event, and every other way to one, names the test that sees it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { feedEvents, subscribableEvents } from '#src/contract/events.js';
import { createApp } from '#src/http/app.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';

const target = await startAppliance();
const { runtime, features } = target.appliance;
const operations = createApp(runtime, features).state.operations.map(({ declaration }) => declaration);

const emitters = 'test/webhooks/emitters.test.ts';
const files = 'test/files/events.test.ts';
const events = 'test/documents/events.test.ts';
const bulk = 'test/documents/bulk.test.ts';
const created = ['sessionCreated'];
const ended = ['sessionDeleted'];
const bySent = 'const bySent = sentLogins.map';
const together = 'documents are created, upserted, updated and deleted together, each with its event';
const each = 'each change leaves one event and one audit row, over REST and GraphQL';

/** [operation, or what else leads to an event; the events; the test; a text of its title or its table] */
const paths: readonly (readonly [string, readonly string[], string, string])[] = [
  ['account.createEmailSession', [...created, ...ended], emitters, "'a login in the same browser'"],
  ['POST /account/sessions', created, emitters, "'a login by the other path'"],
  ['account.createAnonymousSession', created, emitters, "'an anonymous login'"],
  ['account.updateMagicURLSession', created, emitters, bySent],
  ['account.updatePhoneSession', created, emitters, bySent],
  ['account.createSession', created, emitters, bySent],
  ['account.createOAuth2Session', created, emitters, "'a login by OAuth2'"],
  ['account.createOAuth2Token', created, emitters, "'a login by the token of OAuth2'"],
  ['account.createSamlSession', created, emitters, "'a login by SAML'"],
  ['account.createPasskeySession', created, emitters, "'a login by a passkey'"],
  ['account.updateMfaChallenge', created, emitters, "'a login that lacks the second factor, and its challenge'"],
  ['users.createToken', created, emitters, "'a login by a token of the users service'"],
  ['users.createSession', created, emitters, "'a session of the users service'"],
  ['account.deleteSession', ended, emitters, "'a session ended by its id'"],
  ['account.deleteSessions', ended, emitters, "'all sessions ended'"],
  ['account.updatePassword', ended, emitters, "'a changed password'"],
  ['account.updateRecovery', ended, emitters, "'a recovery'"],
  ['account.updateStatus', ended, emitters, "'a block by the user'"],
  ['account.delete', ended, emitters, "'a deleted account'"],
  ['users.updatePassword', ended, emitters, "'a password set by a server key'"],
  ['users.updateStatus', ended, emitters, "'a block by a server key'"],
  ['users.deleteSession', ended, emitters, "'a session ended by a server key'"],
  ['users.deleteSessions', ended, emitters, "'all sessions ended by a server key'"],
  ['users.delete', ended, emitters, "'a user deleted by a server key'"],
  ['the bound of sessions of a user', [...created, ...ended], emitters, "'one session too many'"],
  ['a block by an operator', ended, emitters, "'a block'"],
  ['the time of sessions', ended, emitters, 'expired sessions'],
  ['documents.create', ['documentCreated'], events, each],
  ['several documents in one request', ['documentCreated'], bulk, together],
  ['documents.update', ['documentUpdated'], events, each],
  ['documents.upsert', ['documentCreated', 'documentUpdated'], 'test/documents/upsert.test.ts', 'an upsert creates'],
  ['documents.increment', ['documentUpdated'], events, 'each increment and decrement'],
  ['documents.decrement', ['documentUpdated'], events, 'each increment and decrement'],
  ['documents.delete', ['documentDeleted'], events, each],
  ['documents.updateAll', ['documentUpdated'], bulk, together],
  ['documents.upsertAll', ['documentCreated', 'documentUpdated'], bulk, together],
  ['documents.deleteAll', ['documentDeleted'], bulk, together],
  [
    'databases.updateTransaction',
    ['documentCreated', 'documentUpdated', 'documentDeleted'],
    'test/documents/transactions.test.ts',
    'every write waits for the commit',
  ],
  [
    'databases.createOperations',
    ['documentCreated'],
    'test/documents/transactions.test.ts',
    'listed operations do the same',
  ],
  ['GraphQL', ['documentCreated', 'documentUpdated', 'documentDeleted'], events, each],
  [
    'relations that are deleted too',
    ['documentDeleted'],
    'test/documents/relations.test.ts',
    "'documentDeleted', 'documentDeleted'",
  ],
  ['the import of documents', ['documentCreated'], 'test/cli/documents.test.ts', 'documentCreated'],
  ['files.create', ['fileCreated'], files, "'an upload in chunks, the last of which comes twice'"],
  ['files.update', ['fileUpdated'], files, "'another name'"],
  ['files.delete', ['fileDeleted'], files, "'a deletion'"],
  ['the erasure of a person', ['fileDeleted'], files, 'the erasure of its owner'],
];
const announcing = /^(documents|files)\.|^(account|users)\..*Session|^databases\.(updateTransaction|createOperations)$/;
/** Those of these names that announce nothing by themselves. */
const silent = ['account.updateSession'];

test('every operation that can announce an event has its test', () => {
  const known = new Set(paths.map(([path]) => path));
  const without = operations
    .filter(({ id, method }) => method !== 'GET' && announcing.test(id) && !known.has(id) && !silent.includes(id))
    .map(({ id }) => id);
  assert.deepEqual(without, []);
  const ids = new Set(operations.map(({ id }) => id));
  const gone = paths.map(([path]) => path).filter((path) => /^\w+\.\w+$/.test(path) && !ids.has(path));
  assert.deepEqual(gone, []);
});

test('each of these tests is there', () => {
  for (const [path, names, file, text] of paths) {
    assert.ok(existsSync(join(root, file)), `${path}: ${file}`);
    assert.ok(readFileSync(join(root, file), 'utf8').includes(text), `${path}: ${file} has no ${text}`);
    for (const name of names) assert.ok((feedEvents as readonly string[]).includes(name), `${path}: ${name}`);
  }
  const seen = new Set(paths.flatMap(([, names]) => names));
  assert.deepEqual(
    subscribableEvents.filter((name) => !seen.has(name)),
    [],
  );
});
