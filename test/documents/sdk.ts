// The unmodified node-appwrite in the hands of those who use databases.
import assert from 'node:assert/strict';
import { AppwriteException, Client, Databases, Graphql } from 'node-appwrite';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';

/** Services of the SDK, by who calls. */
interface SdkCallers {
  readonly server: Databases;
  readonly ada: LoggedInUser;
  readonly adas: Databases;
  readonly bobs: Databases;
  readonly guests: Databases;
  readonly graphql: { readonly server: Graphql; readonly guests: Graphql };
}

/** A server key, two logged-in users and a guest. */
export async function sdkCallers(target: TestAppliance): Promise<SdkCallers> {
  const ada = await aLoggedInUser(target);
  const bob = await aLoggedInUser(target);
  const client = () => new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
  const withKey = client().setKey((await aServerKey(target)).secret);
  return {
    server: new Databases(withKey),
    ada,
    adas: new Databases(client().setSession(ada.secret)),
    bobs: new Databases(client().setSession(bob.secret)),
    guests: new Databases(client()),
    graphql: { server: new Graphql(withKey), guests: new Graphql(client()) },
  };
}

/** Fails unless the SDK throws its exception with that code and type. */
export async function refused(act: Promise<unknown>, code: number, type: string): Promise<void> {
  const error = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AppwriteException, String(error));
  assert.deepEqual([error.code, error.type], [code, type], error.message);
}
