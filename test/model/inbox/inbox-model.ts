/** The contract about the inbox as a model: what a conversation shows after each history. */
export type Written = { text: string; direction: 'inbound' | 'outbound' }
export type Status = 'open' | 'closed' | 'snoozed'
export type Change = { status?: Status; unreadMessages?: 0; assignee?: string | null }

export class Chat {
  readonly messages: Written[] = []
  status: Status = 'open'
  assignee: string | null = null
  /** How many of the messages the shop has read. */
  private readTo = 0

  /** A message of the customer, however late it comes, re-opens the conversation. */
  receive(text: string): void {
    this.messages.push({ text, direction: 'inbound' })
    this.status = 'open'
  }

  answer(text: string): void {
    this.messages.push({ text, direction: 'outbound' })
  }

  change({ status, unreadMessages, assignee }: Change): void {
    if (status !== undefined) this.status = status
    if (unreadMessages !== undefined) this.readTo = this.messages.length
    if (assignee !== undefined) this.assignee = assignee
  }

  /** Puts the messages into the order in which the service has taken them, where several came at the same time. */
  order(texts: readonly string[]): void {
    this.messages.sort((one, other) => texts.indexOf(one.text) - texts.indexOf(other.text))
  }

  /** What the customer has written since the last answer, or since the conversation was marked as read. */
  get unread(): number {
    const answered = this.messages.findLastIndex(({ direction }) => direction === 'outbound') + 1
    return this.messages.slice(Math.max(answered, this.readTo)).filter(({ direction }) => direction === 'inbound')
      .length
  }
}
