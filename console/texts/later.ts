/** The texts of sending later, in English. */
export const laterText = {
  title: 'Send later',
  open: 'Schedule for later',
  at: 'Date and time',
  zone: (name: string) => `In your time zone: ${name}`,
  presets: {
    hour: 'In an hour',
    morning: 'Tomorrow at 9:00',
    monday: 'Monday at 9:00',
  },
  submit: 'Schedule',
  enter: 'Enter a date and time',
  past: 'Choose a time in the future',
  tooFar: 'At most 30 days ahead',
  windowCloses: (moment: string) =>
    `The 24-hour window closes on ${moment}. Unless the customer writes again before that, this message is not sent.`,
}
