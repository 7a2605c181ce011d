import { createHash, timingSafeEqual } from "node:crypto"

/** Returns whether two secret texts are equal, in a time that does not depend on where they differ. */
export const sameSecret = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other))

const digest = (text: string) => createHash("sha256").update(text).digest()
