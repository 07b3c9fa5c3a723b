// What the wing `events` offers the others: reading back what the audit log knows of a user.
export {
  type Activity,
  type ActivityLog,
  createDeviceReader,
  logListShape,
  toLog,
  unknownDevice,
} from './activity/index.js';
