import { secretLife } from '#src/contract/limits.js';

/** The channel of a message, and its template variables besides `project` and `name`. */
interface MessageDefinition {
  readonly channel: 'email' | 'sms';
  readonly variables: readonly string[];
}

const mail = <const V extends readonly string[]>(...variables: V) => ({ channel: 'email', variables }) as const;
const sms = <const V extends readonly string[]>(...variables: V) => ({ channel: 'sms', variables }) as const;

/** Every message by the name of its templates. */
export const messages = {
  'magic-link': mail('link', 'phrase'),
  'email-code': mail('code', 'phrase'),
  'email-verification': mail('link', 'remove', 'account', 'at'),
  recovery: mail('link'),
  'email-challenge': mail('code'),
  invitation: mail('team', 'inviter', 'link'),
  'new-device': mail('client', 'system', 'ip', 'at'),
  'account-exists': mail(),
  'password-changed': mail('at'),
  'email-changed': mail('at'),
  'phone-changed': mail('at'),
  'phone-removed': mail('at'),
  'account-claimed': mail('at'),
  'factor-added': mail('factor', 'at'),
  'factor-removed': mail('factor', 'at'),
  'identity-linked': mail('provider', 'account', 'at'),
  'identity-unlinked': mail('provider', 'account', 'at'),
  test: mail('at'),
  'phone-code': sms('code'),
  'phone-verification': sms('code'),
  'phone-challenge': sms('code'),
  'phone-claimed': sms(),
  'email-removed': sms(),
  'phone-test': sms('at'),
} as const satisfies Record<string, MessageDefinition>;

/** The name of a message. */
export type MessageName = keyof typeof messages;

/** The template variables of a message. */
export type MessageVariables<M extends MessageName> = Readonly<
  Record<(typeof messages)[M]['variables'][number], string>
>;

/** The channel of a message. */
export type Channel = MessageDefinition['channel'];

/** Seconds until the code or link in a message expires; after that, it is not sent. Other messages have no limit. */
export const messageLife: Partial<Record<MessageName, number>> = {
  'magic-link': secretLife.magicLink,
  'email-code': secretLife.code,
  'email-verification': secretLife.verification,
  recovery: secretLife.recovery,
  'email-challenge': secretLife.code,
  'phone-code': secretLife.code,
  'phone-verification': secretLife.code,
  'phone-challenge': secretLife.code,
};

/** Variables that every text of a message must contain if the message has them. */
const essential = ['link', 'code'];

/** Variables that the texts of a message may contain, and those that they must contain. */
export function variablesOf(message: MessageName): {
  readonly names: readonly string[];
  readonly needed: readonly string[];
} {
  const { channel, variables }: MessageDefinition = messages[message];
  const life = messageLife[message] === undefined ? [] : ['life'];
  return {
    names: ['project', 'name', ...(channel === 'email' ? ['accent', 'onAccent'] : []), ...life, ...variables],
    needed: variables.filter((name) => essential.includes(name)),
  };
}

type VariableName = (typeof messages)[MessageName]['variables'][number];

/** Sample values of all variables, for previews of texts. */
export const sampleVariables: Readonly<Record<VariableName, string>> = {
  link: 'https://app.example.com/open?userId=5f2c1d9e8b7a60341122&secret=3q2-7wAAAAE',
  remove: 'https://api.example.com/v1/auth/remove-address?userId=5f2c1d9e8b7a60341122&secret=5p2-7wAAAAE',
  code: '123456',
  phrase: 'Golden Fox',
  team: 'Gardeners',
  inviter: 'Ben',
  client: 'Firefox',
  system: 'Linux',
  ip: '203.0.113.7',
  factor: 'totp',
  provider: 'Google',
  account: 'anna@example.com',
  at: '2026-01-31T12:00:00.000Z',
};

/** The names of all messages. */
export const messageNames = Object.keys(messages) as readonly MessageName[];

/** True if there is a message with this name. */
export function isMessageName(name: string): name is MessageName {
  return Object.hasOwn(messages, name);
}
