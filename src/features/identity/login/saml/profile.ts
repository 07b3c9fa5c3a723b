import { Failure } from '#src/contract/errors.js';
import { noTokens } from '#src/contract/session.js';
import { type ExternalProfile, toExternalProfile } from '../../external-logins/index.js';
import { nameIdFormats, type SamlConfig, transientFormat } from './config.js';
import type { VerifiedAssertion } from './protocol/index.js';

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';

/** What providers call the address: by its plain name, as AD FS and Entra ID do, and by the numbers of LDAP (RFC 4524 §2.16). */
const emailAttributes = [
  ...['email', 'mail', 'emailAddress', 'emailaddress'],
  `${claims}/emailaddress`,
  ...['urn:oid:0.9.2342.19200300.100.1.3', 'urn:oid:1.2.840.113549.1.9.1'],
];
const nameAttributes = [
  ...['displayName', 'displayname', 'name'],
  'http://schemas.microsoft.com/identity/claims/displayname',
  ...['urn:oid:2.16.840.1.113730.3.1.241', 'cn', 'urn:oid:2.5.4.3'],
];
/** First and last names, where there is no other. */
const partsOfName = [
  ['givenName', 'givenname', 'firstName', `${claims}/givenname`, 'urn:oid:2.5.4.42'],
  ['surname', 'sn', 'lastName', `${claims}/surname`, 'urn:oid:2.5.4.4'],
];

/**
 * Whose login an assertion is. Throws Failure `user_missing_id` where it names nobody, or only by an id that differs with every login. Any
 * provider can state any address, so one counts as verified in the configured domains only.
 */
export function profileOf(config: SamlConfig, assertion: VerifiedAssertion): ExternalProfile {
  const { nameId, nameIdFormat, attributes } = assertion;
  const first = (names: readonly string[]): string | undefined =>
    names.flatMap((name) => attributes.get(name) ?? []).find((value) => value !== '');
  const { uidAttribute, emailAttribute, nameAttribute, emailDomains } = config;
  const stated = first(emailAttribute === undefined ? emailAttributes : [emailAttribute]);
  const named = nameIdFormat === nameIdFormats.email ? nameId : undefined;
  const email = (stated ?? named)?.toLowerCase();
  const parts = partsOfName.flatMap((names) => first(names) ?? []).join(' ');
  return toExternalProfile(
    {
      id: uidAttribute === undefined ? stableNameId(assertion) : onlyValue(attributes.get(uidAttribute)),
      email,
      emailVerified: email !== undefined && emailDomains.includes(email.slice(email.lastIndexOf('@') + 1)),
      name: first(nameAttribute === undefined ? nameAttributes : [nameAttribute]) ?? parts,
    },
    noTokens,
  );
}

function stableNameId({ nameId, nameIdFormat }: VerifiedAssertion): string | undefined {
  if (nameIdFormat === transientFormat)
    throw new Failure('user_missing_id', {
      message: 'The login provider names users by an id that differs with every login.',
    });
  return nameId;
}

/** An attribute with several values names nobody. */
function onlyValue(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined;
}
