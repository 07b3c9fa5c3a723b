import type { ForeignRow } from '#src/platform/foreign-databases/index.js';
import { checkedUser, objectOf, objectsOf, ofSupabase, type UserRecordOfFile } from '../../user-records/index.js';
import type { UnsupportedList } from '../unsupported-list.js';
import type { SupabaseData } from './data.js';

/** Reads users with their identities and authenticator apps. */
export async function* supabaseUsers(
  data: SupabaseData,
  unsupported: UnsupportedList,
): AsyncGenerator<UserRecordOfFile, void, undefined> {
  let line = 0;
  for await (const rows of data.users())
    for (const row of rows) {
      line += 1;
      const user = checkedUser(ofSupabase({ ...row, mfa_factors: factorsOf(row, unsupported) }));
      const claims = Object.keys(objectOf(row.raw_app_meta_data) ?? {}).filter(
        (name) => !['provider', 'providers'].includes(name),
      );
      for (const claim of claims)
        unsupported.add(
          'app metadata',
          `The member ${claim} of raw_app_meta_data is not imported, because users can change their preferences. Labels are for such values: svc user update --labels.`,
        );
      yield typeof user === 'string' ? { line, bytes: 0, id: String(row.id), problem: user } : { line, bytes: 0, user };
    }
}

/** The factors that can be imported. */
function factorsOf(row: ForeignRow, unsupported: UnsupportedList): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(row.mfa_factors).filter(({ factor_type: type, status, secret }) => {
    if (status !== 'verified') return false;
    if (type !== 'totp') {
      unsupported.add(
        'second factor',
        `Factors of type ${String(type)} are not imported. Such users have no second factor until they add one.`,
      );
      return false;
    }
    if (typeof secret === 'string' && /^[A-Z2-7]+=*$/i.test(secret)) return true;
    unsupported.add(
      'second factor',
      'Secrets of authenticator apps are encrypted in the source. Such users have no second factor until they add one.',
    );
    return false;
  });
}
