/**
 * Watches that are cut and resumed while a hundred writers write: what a watcher is told is what the writes were
 * answered, in their order, whatever it selects by and wherever it begins.
 */
import { expect, test } from "bun:test"
import { startServer } from "../../harness/server.ts"
import { runWatches } from "./run.ts"

test("each watcher is told the acknowledged writes of each object in order, through any number of resumes", async () => {
  // given a server that forgets soon, so that revisions expire under the watchers
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
  // and what upstream gives for the same seed and numbers
  expect(figures.digest).toBe("1a0f1d66f74070bc")
}, 60_000)
