import { Failure } from '#src/contract/errors.js';
import { type ApplianceCall, command, projectOption } from '../line/command.js';
import { notFoundError, shellWord } from '../terminal/exit.js';
import { pairs } from '../terminal/table.js';
import { calledOf, userArgument } from './user-view.js';

/** `svc user erase` */
export const erase = command({
  path: 'user erase',
  summary:
    'Deletes a user and everything stored about the person: emails, event payloads, files and personal values in the audit log. Documents are kept',
  arguments: [{ ...userArgument, summary: 'id or email address of the user, also of a deleted one to erase the rest' }],
  options: [
    { ...projectOption, summary: 'id of the project, also of a deleted one' },
    { flag: '--confirm', value: 'NAME', summary: 'id or email address of the user, to confirm without a prompt' },
    { flag: '--no-vacuum', summary: 'leave bytes in free pages of the database, which are overwritten in time' },
  ],
  examples: [
    'svc user erase bob --project shop --confirm bob',
    'svc user erase bob --project shop --confirm bob --no-vacuum --json',
  ],
  run: async (call) => {
    const { args, prompts, output, features } = call;
    const projectId = args.required('--project');
    const asked = args.argument('USER');
    const { id, called, names, documentsStay, run } = await personOf(call, projectId, asked);
    const question = `This erases the user ${called} of ${projectId} with everything stored about the person, for good.`;
    await prompts.confirmByName(question, [asked, id, ...names], args.text('--confirm'));
    const erased = await run();
    if (!args.isSet('--no-vacuum')) {
      output.note('Rewriting the database, so that its free pages hold nothing of it. Writes wait meanwhile.');
      await features.erasure.scrub();
    }
    const created = `svc audit list --project ${shellWord(projectId)} --actor ${shellWord(id)} --action documentCreated`;
    if (documentsStay) output.note(`Documents stay. Those that the user created: ${created} --limit 1000`);
    return {
      value: { $id: id, erased: true, ...erased },
      text: pairs([
        ['erased', called],
        ['files', String(erased.files)],
        ['messages', String(erased.messages)],
        ['event payloads', String(erased.events)],
        ['values of the audit log', String(erased.auditValues)],
      ]),
      next: 'backups and archived logs of the database hold what they held; let them expire',
    };
  },
});

/** Finds the user and the erasure to run, in a project or in the log of a deleted one. */
async function personOf({ runtime, features, auditContext }: ApplianceCall, projectId: string, asked: string) {
  const { projects, erasure } = features;
  const by = auditContext(projectId);
  const log = `svc audit list --project ${shellWord(projectId)}`;
  if (await projects.wasDeleted(runtime.db, projectId)) {
    const id = await erasure.findInDeleted(projectId, asked).catch((error: unknown) => {
      const message = `The project ${projectId} is deleted, and the audit log has no entry about such a user.`;
      throw explained(error, message, `${log} shows what is left`);
    });
    return {
      id,
      called: `${id} (deleted)`,
      names: [],
      documentsStay: false,
      run: () => erasure.runInDeleted(by, projectId, id),
    };
  }
  const project = await projects.get(runtime.db, projectId);
  const { id, account } = await erasure.find(project, asked).catch((error: unknown) => {
    // An erasure also removes addresses.
    const message = 'There is no such user. A user who was erased before is named by id.';
    throw explained(error, message, `${log} --action accountErased shows the ids`);
  });
  const called = account === undefined ? `${id} (deleted)` : calledOf(account);
  const names = account?.email ? [account.email] : [];
  return { id, called, names, documentsStay: true, run: () => erasure.run(by, project, id) };
}

/** Replaces the error for an unknown user. */
function explained(error: unknown, message: string, fix: string): unknown {
  if (!(error instanceof Failure) || error.type !== 'user_not_found') return error;
  return notFoundError(error.type, message, fix);
}
