/**
 * Cuts and resumes watches while a hundred writers write. Each watcher must receive the versions that the writes were
 * answered with, in their order, with any selector and from any revision.
 */
import { expect, test } from "bun:test"
import { startServer } from "../../harness/server.ts"
import { runWatches } from "./run.ts"

test("each watcher gets the acknowledged writes of each object in order, through any number of resumes", async () => {
  // given a server with a short history, so that revisions of watchers expire
  await using server = await startServer({
    flags: ["--disable", "controller-manager,scheduler", "--history-size", "1Mi"],
  })
  // when
  const load = { seed: 1, writers: 100, writes: 20, watchers: 16, initialEvents: true }
  const { faults, ...figures } = await runWatches({ target: server, ...load })
  // then
  expect(faults).toEqual([])
  expect(figures.writes).toBeGreaterThan(2000)
  expect(figures.sessions).toBeGreaterThan(200)
  expect(figures.events).toBeGreaterThan(5000)
  expect(figures.lists).toBeGreaterThan(64)
  expect(figures.initial).toBeGreaterThan(10)
  expect(figures.expired).toBeGreaterThan(0)
  // and the digest is that of upstream's server for the same seed and numbers
  expect(figures.digest).toBe("1a0f1d66f74070bc")
}, 60_000)
