import { asciiAddress } from '#src/contract/email-address.js';
import { Failure } from '#src/contract/errors.js';
import { noTokens } from '#src/contract/session.js';
import { type ExternalProfile, toExternalProfile } from '../../external-logins/index.js';
import { nameIdFormats, type SamlConfig, transientFormat } from './config.js';
import type { VerifiedAssertion } from './protocol/index.js';

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';

/** Attribute names for the email address: plain names, the claim URI of AD FS and Entra ID, and LDAP OIDs (RFC 4524 §2.16). */
const emailAttributes = [
  ...['email', 'mail', 'emailAddress'],
  `${claims}/emailaddress`,
  ...['urn:oid:0.9.2342.19200300.100.1.3', 'urn:oid:1.2.840.113549.1.9.1'],
];
const nameAttributes = [
  ...['displayName', 'name'],
  'http://schemas.microsoft.com/identity/claims/displayname',
  ...['urn:oid:2.16.840.1.113730.3.1.241', 'cn', 'urn:oid:2.5.4.3'],
];
/** First and last name, used if there is no full name. */
const partsOfName = [
  ['givenName', 'firstName', `${claims}/givenname`, 'urn:oid:2.5.4.42'],
  ['surname', 'sn', 'lastName', `${claims}/surname`, 'urn:oid:2.5.4.4'],
];

/**
 * The profile of the user in an assertion. Throws Failure `user_missing_id` if it contains no user id or only one that differs at every
 * login. Providers can state any address, so an address counts as verified only in the configured domains.
 */
export function profileOf(config: SamlConfig, assertion: VerifiedAssertion): ExternalProfile {
  const { nameId, nameIdFormat, attributes } = assertion;
  // Providers differ in the case of these names: `Email`, `FirstName`.
  const valuesOf = (name: string) =>
    [...attributes].flatMap(([given, values]) => (given.toLowerCase() === name.toLowerCase() ? values : []));
  const first = (names: readonly string[]): string | undefined => names.flatMap(valuesOf).find((value) => value !== '');
  const { uidAttribute, emailAttribute, nameAttribute, emailDomains } = config;
  const stated = first(emailAttribute === undefined ? emailAttributes : [emailAttribute]);
  const named = nameIdFormat === nameIdFormats.email ? nameId : undefined;
  const email = asciiAddress(stated ?? named ?? '');
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

/** An attribute with several values does not identify a user. */
function onlyValue(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined;
}
