/** A message to a person: by which way it goes, and what its text may speak of besides `project` and `name`. */
interface MessageDefinition {
  readonly channel: 'email' | 'sms';
  readonly variables: readonly string[];
}

const mail = <const V extends readonly string[]>(...variables: V) => ({ channel: 'email', variables }) as const;
const sms = <const V extends readonly string[]>(...variables: V) => ({ channel: 'sms', variables }) as const;

/** Every message, by the name of its templates. */
export const messages = {
  'magic-link': mail('link', 'phrase'),
  'email-code': mail('code', 'phrase'),
  'email-verification': mail('link'),
  recovery: mail('link'),
  'email-challenge': mail('code'),
  invitation: mail('team', 'inviter', 'link'),
  'new-device': mail('client', 'system', 'ip', 'at'),
  'account-exists': mail(),
  'password-changed': mail('at'),
  'email-changed': mail('at'),
  'phone-changed': mail('at'),
  'factor-added': mail('factor', 'at'),
  'factor-removed': mail('factor', 'at'),
  'phone-code': sms('code'),
  'phone-verification': sms('code'),
  'phone-challenge': sms('code'),
} as const satisfies Record<string, MessageDefinition>;

/** The name of a message. */
export type MessageName = keyof typeof messages;

/** What a message speaks of. */
export type MessageVariables<M extends MessageName> = Readonly<
  Record<(typeof messages)[M]['variables'][number], string>
>;
