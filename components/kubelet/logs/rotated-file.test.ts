import { expect, test } from "bun:test"
import type { OpenFile } from "../runtime/open-file.ts"
import { RotatedFile } from "./rotated-file.ts"

/** A file with this content, which is no longer the one at its path. */
function rotatedAway(text: string) {
  let isOpen = true
  const file: OpenFile = {
    read: async (offset, length) => Buffer.from(text).subarray(offset, offset + length),
    size: async () => text.length,
    isCurrent: async () => false,
    close: async () => void (isOpen = false),
  }
  return { file, isOpen: () => isOpen }
}

test("a file that was being opened when its reader went is closed", async () => {
  // given
  const { file, isOpen } = rotatedAway("")
  const opening = Promise.withResolvers<OpenFile>()
  const log = new RotatedFile({ open: () => opening.promise, list: async () => [] }, "/log")
  const opened = log.open()
  // when
  await log.close()
  opening.resolve(file)
  await opened
  // then
  expect(isOpen()).toBe(false)
})

test("the old file is read until the new one is written to, or to its end where nothing more is waited for", async () => {
  for (const isLast of [false, true]) {
    // given a log whose runtime has not begun to write to the new file
    const files = [rotatedAway("old"), rotatedAway("")]
    const [old, next] = files
    const log = new RotatedFile({ open: async () => files.shift()?.file, list: async () => [] }, "/log")
    await log.open()
    // when, then
    expect(await log.rotated(isLast)).toBe(isLast ? "old file" : undefined)
    expect(await log.rotated(isLast)).toBe(isLast ? "new file" : undefined)
    expect([old!.isOpen(), next!.isOpen()]).toEqual([!isLast, true])
    await log.close()
    expect([old!.isOpen(), next!.isOpen()]).toEqual([false, false])
  }
})
