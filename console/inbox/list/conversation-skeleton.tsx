import { Skeleton } from '../../parts/lists/skeleton.tsx'
import css from './conversation-skeleton.module.css'

/** A conversation on its way: its heading and some bubbles. */
export const ConversationSkeleton = () => (
  <Skeleton className={css.conversation}>
    <div className={css.head} />
    <Bubbles />
  </Skeleton>
)

/** Messages on their way. */
export const MessagesSkeleton = () => (
  <Skeleton className={css.conversation}>
    <Bubbles />
  </Skeleton>
)

const Bubbles = () => (
  <div className={css.bubbles}>
    <div className={css.theirs} />
    <div className={css.theirs} />
    <div className={css.mine} />
    <div className={css.theirs} />
    <div className={css.mine} />
  </div>
)
