import { isChannel } from './channels.js';

/** A subscription in the URL of a socket. */
interface NamedSubscription {
  /** The number that the client uses for it. */
  readonly slot: string;
  readonly channels: readonly string[];
  readonly queries: readonly string[];
}

/**
 * Parses the subscriptions in the query string of a socket's URL. Appwrite clients 1.6 to 1.9 send channels as `channels[]=…`; later ones
 * of these also send queries as `CHANNEL[SLOT][]=…`. `unknown` contains invalid channels.
 */
export function subscriptionsOf(search: string): {
  readonly subscriptions: readonly NamedSubscription[];
  readonly unknown: readonly string[];
} {
  const members = [...new URLSearchParams(search)];
  const named = members.flatMap(([name, value]) => (/^channels(\[\d*\])?$/.test(name) ? [value] : []));
  const channels = [...new Set(named)].filter(isChannel);
  const slots = new Map<string, { readonly channels: Set<string>; readonly queries: Set<string> }>();
  const slotOf = (slot: string) => {
    const found = slots.get(slot) ?? { channels: new Set<string>(), queries: new Set<string>() };
    slots.set(slot, found);
    return found;
  };
  const isNamed = new Set(channels);
  for (const [name, query] of members) {
    const [, channel = '', slot = ''] = /^([\w.-]+)\[(\d{1,6})\]\[\d*\]$/.exec(name) ?? [];
    if (!isNamed.has(channel)) continue;
    const { channels: ofSlot, queries } = slotOf(slot);
    ofSlot.add(channel);
    queries.add(query);
  }
  const withSlot = new Set([...slots.values()].flatMap((slot) => [...slot.channels]));
  for (const channel of channels) if (!withSlot.has(channel)) slotOf('0').channels.add(channel);
  return {
    subscriptions: [...slots].map(([slot, of]) => ({ slot, channels: [...of.channels], queries: [...of.queries] })),
    unknown: [...new Set(named)].filter((name) => !isChannel(name)),
  };
}
