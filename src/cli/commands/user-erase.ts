import { command, projectOption } from '../command.js';
import { pairs } from '../table.js';
import { calledOf, userArgument } from './user-view.js';

/** `svc user erase` */
export const erase = command({
  path: 'user erase',
  summary:
    'Deletes a user and everything stored about the person: mails, event payloads, files, personal values of the audit log. Documents stay',
  arguments: [
    { ...userArgument, summary: 'id or e-mail address of the user, also of a deleted one to erase the rest' },
  ],
  options: [
    projectOption,
    { flag: '--confirm', value: 'NAME', summary: 'id or e-mail address of the user, to confirm without a prompt' },
    { flag: '--no-vacuum', summary: 'leave bytes in free pages of the database, which are overwritten in time' },
  ],
  examples: [
    'svc user erase bob --project shop --confirm bob',
    'svc user erase bob --project shop --confirm bob --no-vacuum --json',
  ],
  needs: 'appliance',
  run: async ({ args, prompts, output, runtime, features, auditContext }) => {
    const { erasure } = features;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const asked = args.argument('USER');
    const { id, account } = await erasure.find(project, asked);
    const called = account === undefined ? `${id} (deleted)` : calledOf(account);
    const names = [id, asked, ...(account?.email ? [account.email] : [])];
    const question = `This erases the user ${called} of ${project.id} with everything stored about the person, for good.`;
    await prompts.confirmByName(question, names, args.text('--confirm'));
    const erased = await erasure.run(auditContext(project.id), project, id);
    if (!args.isSet('--no-vacuum')) {
      output.note('Rewriting what is free in the database. Writes wait meanwhile.');
      await erasure.scrub();
    }
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
