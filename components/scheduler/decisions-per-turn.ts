/**
 * Most scheduling decisions in one turn of the event loop, so that other components get theirs. The bindings of a turn
 * share one commit. More would be no faster: all that follows from them goes on at the same time, and is in memory
 * together.
 */
export const DECISIONS_PER_TURN = 25
