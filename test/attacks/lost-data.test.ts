import { expect, test } from "bun:test"
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startServer } from "../harness/server.ts"

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

/** Ways to remove acknowledged writes from the disk, each with the message of the next start. */
const LOSSES: readonly { what: string; lose(database: string): void; says: RegExp }[] = [
  {
    what: "the log of changes truncated to its first part",
    lose: (database) => truncateSync(`${database}-wal`, 200_000),
    says: /state\.db: it ends at revision \d+, but \S+state\.db\.acknowledged says that revision \d+ was acknowledged; restore \S+state\.db-wal/,
  },
  {
    what: "the log of changes removed",
    lose: (database) => rmSync(`${database}-wal`),
    says: /state\.db: it ends at revision 0, but \S+state\.db\.acknowledged says that revision \d+ was acknowledged; restore \S+state\.db-wal/,
  },
  {
    what: "everything removed but the database itself, as in a copy of this one file",
    lose(database) {
      for (const end of ["-wal", ".acknowledged"]) rmSync(`${database}${end}`)
    },
    says: /state\.db: it is missing or empty, but \S+service\.key shows that a cluster has been here/,
  },
  {
    what: "the database emptied",
    lose(database) {
      rmSync(`${database}-wal`)
      writeFileSync(database, "")
    },
    says: /state\.db: it is missing or empty, but \S+ shows that a cluster has been here/,
  },
  {
    what: "the database's folder removed",
    lose: (database) => rmSync(join(database, ".."), { recursive: true }),
    says: /state\.db: it is missing or empty, but \S+service\.key shows that a cluster has been here/,
  },
]

test.each(LOSSES)(
  "a server that finds $what does not start, and says why, unless the loss is accepted by a flag",
  async ({ lose, says }) => {
    const dataDir = mkdtempSync(join(tmpdir(), "k3ts-lost-"))
    const database = join(dataDir, "server/db/state.db")
    try {
      // given a server that was killed after it had acknowledged writes
      const first = await startServer({ dataDir })
      for (let i = 0; i < 20; i++) {
        const { status } = await first.send("POST", CONFIG_MAPS, {
          metadata: { name: `c${i}` },
          data: { i: String(i) },
        })
        expect(status).toBe(201)
      }
      await first.kill("SIGKILL")

      // when a part of what it wrote is gone
      lose(database)
      const left = existsSync(database) ? readFileSync(database) : undefined

      // then it does not start, says why and what to do, and leaves what is there
      const refusal = await startServer({ dataDir }).catch((err: unknown) => String(err))
      expect(refusal).toMatch(says)
      expect(refusal).toContain("--accept-data-loss")
      expect(existsSync(database) ? readFileSync(database) : undefined).toEqual(left)

      // when the loss is accepted, then it starts, with newer revisions than any client has seen where it can know
      // them, and needs no flag later
      const accepted = await startServer({ dataDir, flags: ["--accept-data-loss"] })
      expect((await accepted.send("POST", CONFIG_MAPS, { metadata: { name: "new" } })).status).toBe(201)
      await accepted.kill("SIGTERM")
      const again = await startServer({ dataDir })
      expect((await again.get(`${CONFIG_MAPS}/new`)).status).toBe(200)
      await again.kill("SIGTERM")
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
)
