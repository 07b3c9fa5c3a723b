import type { Command } from '../command.js';
import { apikeyCommands } from './apikey.js';
import { initCommand } from './init.js';
import { migrateCommands } from './migrate.js';
import { projectCommands } from './project.js';
import { rosterCommands } from './roster.js';
import { serveCommand } from './serve.js';
import { versionCommand } from './version.js';

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  initCommand,
  ...migrateCommands,
  serveCommand,
  ...projectCommands,
  ...apikeyCommands,
  ...rosterCommands,
  versionCommand,
];
