import { samlLimits } from '#src/contract/limits.js';
import { childrenOf, elementsOf, isNamed, onlyChildOf, textOf, xmlAttribute } from './dom.js';
import type { Expectation } from './expectation.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

/** Contents of a verified assertion about a login at an identity provider. */
export interface VerifiedAssertion {
  readonly id: string;
  /** Time until which it could be replayed, in milliseconds since 1970. */
  readonly untilMs: number;
  /** End of the session as set by the provider, in milliseconds since 1970; undefined if it sets none. */
  readonly sessionEndMs: number | undefined;
  readonly nameId: string | undefined;
  readonly nameIdFormat: string;
  /** Attribute values by attribute name. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const unspecified = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';
const instantPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
/** Conditions that a service provider may ignore. With any other condition, the assertion must be rejected (SAML core §2.5.1). */
const idleConditions = ['OneTimeUse', 'ProxyRestriction'];

/** Reads a signed assertion and checks the requirements of SAML profiles §4.1.4.2 and §4.1.4.3. Throws SamlRefused. */
export function readAssertion(assertion: XmlElement, expectation: Expectation): VerifiedAssertion {
  const id = xmlAttribute(assertion, 'ID');
  if (!isNamed(assertion, 'assertion', 'Assertion') || id === undefined) throw new SamlRefused('form of the assertion');
  if (xmlAttribute(assertion, 'Version') !== '2.0') throw new SamlRefused('version');
  if (textOf(onlyChildOf(assertion, 'assertion', 'Issuer')) !== expectation.issuer) throw new SamlRefused('issuer');
  const subject = onlyChildOf(assertion, 'assertion', 'Subject');
  if (subject === undefined) throw new SamlRefused('form of the assertion');
  const confirmedUntil = requireConfirmation(subject, expectation);
  const validUntil = requireConditions(assertion, expectation);
  const sessionEnds = requireLogin(assertion, expectation);
  if (childrenOf(subject, 'assertion', 'EncryptedID').length > 0) throw new SamlRefused('encrypted id');
  const nameId = onlyChildOf(subject, 'assertion', 'NameID');
  return {
    id,
    untilMs: Math.min(confirmedUntil, validUntil) + samlLimits.skewMs,
    sessionEndMs: sessionEnds.length === 0 ? undefined : Math.min(...sessionEnds),
    nameId: textOf(nameId),
    nameIdFormat: (nameId && xmlAttribute(nameId, 'Format')) ?? unspecified,
    attributes: attributesOf(assertion),
  };
}

/** Requires one valid bearer confirmation; returns when it expires, in milliseconds since 1970. */
function requireConfirmation(subject: XmlElement, expectation: Expectation): number {
  const refusals: unknown[] = [];
  for (const confirmation of childrenOf(subject, 'assertion', 'SubjectConfirmation'))
    try {
      return confirmedUntil(confirmation, expectation);
    } catch (error) {
      refusals.push(error);
    }
  throw refusals[0] ?? new SamlRefused('subject confirmation');
}

function confirmedUntil(confirmation: XmlElement, { destination, requestId, nowMs }: Expectation): number {
  const data = onlyChildOf(confirmation, 'assertion', 'SubjectConfirmationData');
  if (xmlAttribute(confirmation, 'Method') !== bearer || data === undefined)
    throw new SamlRefused('subject confirmation');
  if (xmlAttribute(data, 'Recipient') !== destination) throw new SamlRefused('recipient');
  if ((xmlAttribute(data, 'InResponseTo') ?? null) !== requestId) throw new SamlRefused('in response to');
  return requireWindow(data, nowMs, 'confirmation expired');
}

/** Requires that all conditions hold and each audience restriction contains us; returns when they expire, in milliseconds since 1970. */
function requireConditions(assertion: XmlElement, { audience, nowMs }: Expectation): number {
  const conditions = onlyChildOf(assertion, 'assertion', 'Conditions');
  if (conditions === undefined) throw new SamlRefused('conditions');
  const until = requireWindow(conditions, nowMs, 'conditions expired');
  const restrictions = childrenOf(conditions, 'assertion', 'AudienceRestriction');
  const idle = idleConditions.flatMap((name) => childrenOf(conditions, 'assertion', name));
  if (elementsOf(conditions).length !== restrictions.length + idle.length) throw new SamlRefused('conditions');
  const names = (restriction: XmlElement) => childrenOf(restriction, 'assertion', 'Audience').map(textOf);
  if (restrictions.length === 0 || !restrictions.every((restriction) => names(restriction).includes(audience)))
    throw new SamlRefused('audience');
  return until;
}

/** Requires a statement about the login itself (SAML profiles §4.1.4.2). Returns the session ends it sets, in milliseconds since 1970. */
function requireLogin(assertion: XmlElement, { nowMs }: Expectation): number[] {
  const statements = childrenOf(assertion, 'assertion', 'AuthnStatement');
  if (statements.length === 0) throw new SamlRefused('form of the assertion');
  return statements.flatMap((statement) => {
    const stated = xmlAttribute(statement, 'SessionNotOnOrAfter');
    if (stated === undefined) return [];
    const end = millisecondsOf(stated);
    // No clock skew here: a session that has to end by now would be closed immediately.
    if (!(end > nowMs)) throw new SamlRefused('conditions expired');
    return [end];
  });
}

/** Requires that the current time is within the element's validity, allowing for clock skew; the end is mandatory. Returns the end. */
function requireWindow(
  element: XmlElement,
  nowMs: number,
  expired: 'confirmation expired' | 'conditions expired',
): number {
  const start = xmlAttribute(element, 'NotBefore');
  const end = millisecondsOf(xmlAttribute(element, 'NotOnOrAfter') ?? '');
  if (start !== undefined && !(millisecondsOf(start) <= nowMs + samlLimits.skewMs))
    throw new SamlRefused('not yet valid');
  if (!(end > nowMs - samlLimits.skewMs)) throw new SamlRefused(expired);
  return end;
}

/** NaN unless the text is a time in UTC (SAML core §1.3.3). */
function millisecondsOf(text: string): number {
  return instantPattern.test(text) ? Date.parse(text) : Number.NaN;
}

function attributesOf(assertion: XmlElement): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const statement of childrenOf(assertion, 'assertion', 'AttributeStatement'))
    for (const attribute of childrenOf(statement, 'assertion', 'Attribute')) {
      const name = xmlAttribute(attribute, 'Name') ?? '';
      const values = childrenOf(attribute, 'assertion', 'AttributeValue').flatMap((value) => textOf(value) ?? []);
      found.set(name, [...(found.get(name) ?? []), ...values]);
    }
  return found;
}
