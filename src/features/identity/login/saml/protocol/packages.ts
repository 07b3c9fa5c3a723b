// The types of both packages declare the DOM of browsers for the whole program, so they are loaded without; here is what is used of them.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A node of a document. */
interface XmlNode {
  readonly nodeType: number;
  readonly nodeValue: string | null;
  readonly parentNode: XmlNode | null;
  readonly childNodes: ArrayLike<XmlNode>;
}

/** An attribute; the parser gives one without a prefix no namespace. */
interface XmlAttribute {
  readonly name: string;
  readonly localName: string | null;
  readonly value: string;
}

/** An element of a document. */
export interface XmlElement extends XmlNode {
  readonly namespaceURI: string | null;
  readonly localName: string;
  readonly attributes: ArrayLike<XmlAttribute>;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string | null;
}

type ErrorHandler = Readonly<Record<'warning' | 'error' | 'fatalError', () => never>>;

/** An entity of samlify: a provider, with its metadata. */
interface Entity {
  getMetadata(): string;
  createLoginRequest(
    provider: Entity,
    binding: 'redirect',
    options: {
      readonly relayState: string;
      readonly customTagReplacement: (template: string) => { readonly id: string; readonly context: string };
    },
  ): { readonly context: string };
}
interface Endpoint {
  readonly Binding: string;
  readonly Location: string;
  readonly isDefault?: true;
}
interface Samlify {
  ServiceProvider(settings: {
    readonly entityID: string;
    readonly wantAssertionsSigned: true;
    readonly signingCert?: string;
    readonly encryptCert?: string;
    readonly authnRequestsSigned?: boolean;
    readonly nameIDFormat: readonly string[];
    readonly assertionConsumerService: readonly Endpoint[];
  }): Entity;
  IdentityProvider(settings: {
    readonly entityID: string;
    readonly singleSignOnService: readonly Endpoint[];
    readonly singleLogoutService: readonly Endpoint[];
  }): Entity;
  readonly SamlLib: {
    replaceTagsByValue(template: string, values: Readonly<Record<string, string | undefined>>): string;
  };
  readonly Constants: { readonly namespace: { readonly binding: Readonly<Record<'post' | 'redirect', string>> } };
}

/** The parser, which is also that of xml-crypto. */
export const { DOMParser } = require('@xmldom/xmldom') as {
  readonly DOMParser: new (options: {
    readonly errorHandler: ErrorHandler;
  }) => { parseFromString(xml: string, type: string): { readonly documentElement: XmlElement | null } };
};

/** Metadata of service providers and requests of logins. */
export const samlify = require('samlify') as Samlify;
