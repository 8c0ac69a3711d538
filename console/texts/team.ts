import { number } from './format.ts'

/** The texts of assigning conversations and of quick replies, in English. */
export const teamText = {
  assignee: (name: string) => `Assignee: ${name}`,
  assign: 'Assign',
  searchPeople: 'Search people',
  nobody: 'Not assigned',
  noMatch: 'No user matches',
  more: (left: number) => `${number(left)} more: search for them`,
  quickReplies: 'Quick replies',
  insert: 'Insert a quick reply',
  none: 'No quick reply yet',
  noneText: 'Type / in an answer to insert one. Developers and admins write them under Quick replies in their menu.',
  intro: 'Texts that everyone in the company can insert into an answer by typing / and a part of the title.',
  add: 'Add quick reply',
  title: 'Title',
  titleHint: 'What agents type after the /, for example thanks',
  text: 'Text',
  textHint: '{{name}} stands for the name of the contact.',
  edit: (title: string) => `Edit ${title}`,
  remove: (title: string) => `Delete ${title}`,
  removeQuestion: (title: string) => `Delete the quick reply “${title}”?`,
  removeYes: 'Delete',
  enterTitle: 'Enter a title',
  enterText: 'Enter a text',
  titleExists: 'A quick reply has this title already',
}
