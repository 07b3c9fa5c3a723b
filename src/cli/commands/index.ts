import type { Command } from '../line/command.js';
import { apikeyCommands } from './apikey.js';
import { auditCommands } from './audit.js';
import { backupCommands } from './backup.js';
import { bucketCommands } from './bucket.js';
import { collectionCommands } from './collection.js';
import { adviseCommand } from './collection-advise.js';
import { collectionSchemaCommands } from './collection-schema.js';
import { listingCommands } from './commands.js';
import { configCommands } from './config.js';
import { cronCommands } from './cron.js';
import { databaseCommands } from './database.js';
import { dbCommands } from './db.js';
import { doctorCommand } from './doctor.js';
import { documentCommands } from './document.js';
import { eventsCommands } from './events.js';
import { exportCommand } from './export.js';
import { filesCommands } from './files.js';
import { genCommands } from './gen.js';
import { graphqlCommands } from './graphql.js';
import { idsCommand } from './ids.js';
import { importCommands } from './import.js';
import { initCommand } from './init.js';
import { keysCommands } from './keys.js';
import { limitsCommands } from './limits.js';
import { logsCommand } from './logs.js';
import { mailboxCommands } from './mail.js';
import { mailTextCommands } from './mail-texts.js';
import { migrateCommands } from './migrate.js';
import { openapiCommand } from './openapi.js';
import { permissionCommands } from './permission.js';
import { platformCommands } from './platform.js';
import { projectCommands } from './project.js';
import { projectFileCommands } from './project-file.js';
import { providerCommands } from './provider.js';
import { serveCommand } from './serve.js';
import { statusCommand } from './status.js';
import { teamCommands } from './team.js';
import { smsTest } from './test-message.js';
import { userCommands } from './user.js';
import { versionCommand } from './version.js';
import { webhookCommands, webhookRemoval } from './webhook.js';
import { webhookDeliveryCommands } from './webhook-deliveries.js';
import { webhookReceiverCommands } from './webhook-receiver.js';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  initCommand,
  ...migrateCommands,
  serveCommand,
  ...projectCommands,
  ...projectFileCommands,
  ...platformCommands,
  ...apikeyCommands,
  ...keysCommands,
  ...providerCommands,
  ...userCommands,
  ...teamCommands,
  ...databaseCommands,
  ...collectionCommands,
  ...collectionSchemaCommands,
  adviseCommand,
  ...documentCommands,
  ...permissionCommands,
  ...bucketCommands,
  ...webhookCommands,
  ...webhookDeliveryCommands,
  ...webhookReceiverCommands,
  ...webhookRemoval,
  ...eventsCommands,
  ...filesCommands,
  ...importCommands,
  exportCommand,
  ...backupCommands,
  ...dbCommands,
  ...mailboxCommands,
  ...mailTextCommands,
  smsTest,
  ...limitsCommands,
  ...auditCommands,
  ...cronCommands,
  openapiCommand,
  ...genCommands,
  ...graphqlCommands,
  ...configCommands,
  statusCommand,
  logsCommand,
  doctorCommand,
  ...listingCommands,
  idsCommand,
  versionCommand,
];
