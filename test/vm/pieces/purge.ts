import type { Piece } from "./piece.ts"

export const purge: Piece = {
  debian: "bookworm",
  shows: "a purge of the package leaves nothing of it and of its pods",
  async run(steps) {
    await steps.step(
      "Purging the package",
      600,
      `
apt-get -q purge -y k3ts
state >/folder/after
diff /folder/before /folder/after || fail "the purge left something, or took something away"`,
    )
  },
}
