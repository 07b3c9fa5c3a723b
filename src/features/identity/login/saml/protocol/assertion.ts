import { samlLimits } from '#src/contract/limits.js';
import { attributeOf, childrenOf, elementsOf, isNamed, onlyChildOf, textOf } from './dom.js';
import type { Expectation } from './expectation.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

/** What an identity provider has signed of somebody who has logged in there. */
export interface VerifiedAssertion {
  readonly id: string;
  /** Until when it could be presented again, in milliseconds since 1970. */
  readonly untilMs: number;
  readonly nameId: string | undefined;
  readonly nameIdFormat: string;
  /** The values of each attribute by its name. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const unspecified = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';
const instantPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
/** Conditions that a service provider need not act upon; any other makes the assertion one that was not understood (SAML core §2.5.1). */
const idleConditions = ['OneTimeUse', 'ProxyRestriction'];

/** Reads a signed assertion and demands of it what SAML profiles §4.1.4.2 and §4.1.4.3 say. Throws SamlRefused. */
export function readAssertion(assertion: XmlElement, expectation: Expectation): VerifiedAssertion {
  const id = attributeOf(assertion, 'ID');
  if (!isNamed(assertion, 'assertion', 'Assertion') || id === undefined) throw new SamlRefused('form of the assertion');
  if (attributeOf(assertion, 'Version') !== '2.0') throw new SamlRefused('version');
  if (textOf(onlyChildOf(assertion, 'assertion', 'Issuer')) !== expectation.issuer) throw new SamlRefused('issuer');
  const subject = onlyChildOf(assertion, 'assertion', 'Subject');
  if (subject === undefined) throw new SamlRefused('form of the assertion');
  const confirmedUntil = demandConfirmation(subject, expectation);
  const validUntil = demandConditions(assertion, expectation);
  demandLogin(assertion, expectation);
  if (childrenOf(subject, 'assertion', 'EncryptedID').length > 0) throw new SamlRefused('encrypted id');
  const nameId = onlyChildOf(subject, 'assertion', 'NameID');
  return {
    id,
    untilMs: Math.min(confirmedUntil, validUntil) + samlLimits.skewMs,
    nameId: textOf(nameId),
    nameIdFormat: (nameId && attributeOf(nameId, 'Format')) ?? unspecified,
    attributes: attributesOf(assertion),
  };
}

/** One bearer confirmation has to hold; returns until when. */
function demandConfirmation(subject: XmlElement, expectation: Expectation): number {
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
  if (attributeOf(confirmation, 'Method') !== bearer || data === undefined)
    throw new SamlRefused('subject confirmation');
  if (attributeOf(data, 'Recipient') !== destination) throw new SamlRefused('recipient');
  if ((attributeOf(data, 'InResponseTo') ?? null) !== requestId) throw new SamlRefused('in response to');
  return demandWindow(data, nowMs, 'confirmation expired');
}

/** All conditions have to hold, and each audience restriction has to name us; returns until when. */
function demandConditions(assertion: XmlElement, { audience, nowMs }: Expectation): number {
  const conditions = onlyChildOf(assertion, 'assertion', 'Conditions');
  if (conditions === undefined) throw new SamlRefused('conditions');
  const until = demandWindow(conditions, nowMs, 'conditions expired');
  const restrictions = childrenOf(conditions, 'assertion', 'AudienceRestriction');
  const idle = idleConditions.flatMap((name) => childrenOf(conditions, 'assertion', name));
  if (elementsOf(conditions).length !== restrictions.length + idle.length) throw new SamlRefused('conditions');
  const names = (restriction: XmlElement) => childrenOf(restriction, 'assertion', 'Audience').map(textOf);
  if (restrictions.length === 0 || !restrictions.every((restriction) => names(restriction).includes(audience)))
    throw new SamlRefused('audience');
  return until;
}

/** Without a statement of how the user has logged in it is no login (SAML profiles §4.1.4.2). */
function demandLogin(assertion: XmlElement, { nowMs }: Expectation): void {
  const statements = childrenOf(assertion, 'assertion', 'AuthnStatement');
  if (statements.length === 0) throw new SamlRefused('form of the assertion');
  for (const statement of statements) {
    const end = attributeOf(statement, 'SessionNotOnOrAfter');
    if (end !== undefined && !(millisecondsOf(end) > nowMs - samlLimits.skewMs))
      throw new SamlRefused('conditions expired');
  }
}

/** Demands that now lies in the time that an element names, give or take the difference of clocks; its end must be there. */
function demandWindow(
  element: XmlElement,
  nowMs: number,
  expired: 'confirmation expired' | 'conditions expired',
): number {
  const start = attributeOf(element, 'NotBefore');
  const end = millisecondsOf(attributeOf(element, 'NotOnOrAfter') ?? '');
  if (start !== undefined && !(millisecondsOf(start) <= nowMs + samlLimits.skewMs))
    throw new SamlRefused('not yet valid');
  if (!(end > nowMs - samlLimits.skewMs)) throw new SamlRefused(expired);
  return end;
}

/** NaN for what is no time in UTC (SAML core §1.3.3). */
function millisecondsOf(text: string): number {
  return instantPattern.test(text) ? Date.parse(text) : Number.NaN;
}

function attributesOf(assertion: XmlElement): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const statement of childrenOf(assertion, 'assertion', 'AttributeStatement'))
    for (const attribute of childrenOf(statement, 'assertion', 'Attribute')) {
      const name = attributeOf(attribute, 'Name') ?? '';
      const values = childrenOf(attribute, 'assertion', 'AttributeValue').flatMap((value) => textOf(value) ?? []);
      found.set(name, [...(found.get(name) ?? []), ...values]);
    }
  return found;
}
