import { expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { linkUsualSockets, unlinkUsualSockets } from "./usual-sockets.ts"

test("the usual places of containerd's socket lead to ours, unless another containerd has them", () => {
  const run = mkdtempSync(join(tmpdir(), "k3ts-run-"))
  try {
    // given a containerd of the system
    const [theirs, free] = [join(run, "containerd/containerd.sock"), join(run, "k3s/containerd/containerd.sock")]
    mkdirSync(join(run, "containerd"))
    writeFileSync(theirs, "theirs")
    const paths = { socket: join(run, "k3ts/containerd/containerd.sock") }
    // when
    for (const _start of [1, 2]) linkUsualSockets(paths, [theirs, free])
    // then
    expect([readFileSync(theirs, "utf8"), readlinkSync(free)]).toEqual(["theirs", paths.socket])
    // and only our link is removed, with its folders
    unlinkUsualSockets({ socket: "/another" }, [theirs, free])
    expect(readlinkSync(free)).toBe(paths.socket)
    unlinkUsualSockets(paths, [theirs, free])
    expect([readFileSync(theirs, "utf8"), existsSync(join(run, "k3s"))]).toEqual(["theirs", false])
  } finally {
    rmSync(run, { recursive: true })
  }
})
