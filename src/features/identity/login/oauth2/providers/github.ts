import type { RawProfile } from '../../../external-logins/index.js';
import { members, type ProfileSource } from './profile.js';

/**
 * Profile of a GitHub user. The address in the profile may be any that the user chose to show; the list contains the primary address and
 * its verification status.
 */
export async function githubProfile({ get }: ProfileSource): Promise<RawProfile> {
  const headers = { accept: 'application/vnd.github+json' };
  const { id, login, name } = members(await get('https://api.github.com/user', headers));
  const emails = await get('https://api.github.com/user/emails', headers);
  const primary = (Array.isArray(emails) ? emails : []).map(members).find((one) => one.primary === true);
  return { id, email: primary?.email, emailVerified: primary?.verified, name: name ?? login };
}
