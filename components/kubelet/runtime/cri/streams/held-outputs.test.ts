import { afterEach, beforeEach, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../../../../pkg/clock/real.ts"
import type { ProcessExit } from "../../../../../pkg/cri/containerd-exits.ts"
import { Mailbox } from "../../../../../pkg/cri/mailbox.ts"
import { HeldOutputs } from "./held-outputs.ts"

let folder: string
let io: string
let exits: Mailbox<ProcessExit>
let outputs: HeldOutputs
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-held-"))
  io = join(folder, "containers/c1/io")
  mkdirSync(io, { recursive: true })
  exits = new Mailbox()
  outputs = new HeldOutputs({
    clock: realClock,
    stateDir: async () => folder,
    exits: (_signal, onActive) => (onActive(), exits),
  })
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Makes the pipes of a process, as containerd does, in its order. */
function pipesOf(id: string, names = ["stdin", "stdout", "stderr"]): (name: string) => string {
  const made = join(io, `folder-${id}`)
  mkdirSync(made)
  const path = (name: string) => join(made, `${id}-${name}`)
  for (const name of names) execFileSync("mkfifo", [path(name)])
  return path
}

/** Whether a reader of the pipe would see its end. */
function hasEnded(path: string): boolean {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return readSync(fd, new Uint8Array(1)) === 0
  } catch {
    return false // EAGAIN: somebody may still write
  } finally {
    closeSync(fd)
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test("the outputs of the next exec with an input do not end before its process", async () => {
  // given one that runs already, and a probe's
  const old = pipesOf("old")
  const held = (await outputs.hold("c1"))!
  const probe = pipesOf("probe", ["stdout", "stderr"])
  const later = (await outputs.hold("c1"))! // by which the probe is seen before the exec

  // when
  const pipes = pipesOf("exec1")

  // then
  expect(await held.isHeld).toBe(true)
  expect([pipes("stdout"), pipes("stderr"), old("stdout"), probe("stdout")].map(hasEnded)).toEqual([
    false,
    false,
    true,
    true,
  ])

  // when its process ends
  exits.push({ containerId: "c1", id: "other" })
  exits.push({ containerId: "c1", id: "exec1" })
  while (!hasEnded(pipes("stdout"))) await turn()

  // then
  expect(hasEnded(pipes("stderr"))).toBe(true)
  held.release()
  later.release()
})

test("the outputs of a process that has ended already are not held", async () => {
  // given an exec of which the end is told before its pipes are found
  const held = (await outputs.hold("c1"))!
  exits.push({ containerId: "c1", id: "exec1" })
  await turn()
  // when
  const pipes = pipesOf("exec1")
  // then its output is whole all the same
  expect(await held.isHeld).toBe(true)
  expect([pipes("stdout"), pipes("stderr")].map(hasEnded)).toEqual([true, true])
  held.release()
})

test("each of several execs in a container holds its own, until nobody needs them", async () => {
  const [one, two] = [(await outputs.hold("c1"))!, (await outputs.hold("c1"))!]
  const first = pipesOf("exec1")
  expect(await one.isHeld).toBe(true)
  const second = pipesOf("exec2")
  expect(await two.isHeld).toBe(true)
  one.release()
  two.release()
  two.release()
  expect([first("stdout"), second("stderr")].map(hasEnded)).toEqual([true, true])
})

test("nothing stays held when the connection to the runtime is lost", async () => {
  const held = (await outputs.hold("c1"))!
  const pipes = pipesOf("exec1")
  expect(await held.isHeld).toBe(true)
  exits.fail(new Error("unavailable"))
  while (!hasEnded(pipes("stdout"))) await turn()
  held.release()
})

test("nothing is held where the runtime does not tell which processes end", async () => {
  exits.fail(new Error("unavailable"))
  const mute = new HeldOutputs({ clock: realClock, stateDir: async () => folder, exits: () => exits })
  const held = (await mute.hold("c1"))!
  pipesOf("exec1")
  expect(await held.isHeld).toBe(false)
})

test("the input that a process has left unread makes room", async () => {
  // given
  const held = (await outputs.hold("c1"))!
  const pipes = pipesOf("exec1")
  await held.isHeld
  const input = openSync(pipes("stdin"), constants.O_RDWR | constants.O_NONBLOCK)
  const fill = () => {
    try {
      for (;;) writeSync(input, Buffer.alloc(4096))
    } catch (err) {
      return (err as NodeJS.ErrnoException).code
    }
  }
  expect(fill()).toBe("EAGAIN")

  // when
  held.dropInput()

  // then
  expect(writeSync(input, Buffer.alloc(4096))).toBe(4096)
  closeSync(input)
  held.release()
})

test("another runtime than containerd has nothing to hold", async () => {
  const other = new HeldOutputs({ clock: realClock, stateDir: async () => undefined, exits: () => exits })
  expect(await other.hold("c1")).toBeUndefined()
})
