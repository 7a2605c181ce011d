import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import type { KubeletContext } from "../context.ts"
import { MemoryFiles } from "../runtime/simulated/machine/memory-files.ts"
import { linkLog, linkName, repairLinks, unlinkLog, unlinkLogsOfPod } from "./container-links.ts"

const LINKS = "/var/log/containers"

/** A node with folders of logs, and runs of containers on it. */
function given() {
  const files = new MemoryFiles()
  const lines: string[] = []
  const log = createLogger({
    clock: new VirtualClock(0),
    format: "json",
    level: "info",
    write: (line) => lines.push(line),
  })
  const config = { podLogs: "/var/log/pods", containerLogs: LINKS }
  const run = (name: string, id: string, namespace = "default") => {
    const pod = { uid: `uid-${name}-${namespace}`.slice(0, 40), namespace, name }
    return { id, pod, name: "c", logPath: `/var/log/pods/${namespace}_${name}_${pod.uid}/c/0.log` }
  }
  return {
    context: { config, log, runtime: { files } } as unknown as KubeletContext,
    files,
    lines,
    run,
    /** The same, with a log that has begun. */
    started(...of: Parameters<typeof run>) {
      const made = run(...of)
      files.put(made.logPath, "x")
      return made
    },
    links: () => files.list(LINKS),
  }
}

describe("the links of containers' logs", () => {
  test("have upstream's names, which collectors read", () => {
    const pod = { uid: "u", namespace: "shop", name: "web-7c8f-1" }
    expect(linkName({ id: "f00", pod, name: "nginx" })).toBe("web-7c8f-1_shop_nginx-f00.log")
    const long = linkName({ id: "f".repeat(64), pod: { ...pod, name: "n".repeat(253) }, name: "c" })
    expect(long).toBe(`${"n".repeat(251)}.log`)
  })

  test("come and go with the container, and with the pod", async () => {
    const { context, started, links, files } = given()
    const [a, b, other] = [started("a", "1"), started("a", "2"), started("b", "3")]
    for (const run of [a, b, other]) await linkLog(context, run)
    expect(files.get(`${LINKS}/a_default_c-1.log`)).toBe(a.logPath)
    // when
    await unlinkLog(context, a)
    expect(await links()).toEqual(["a_default_c-2.log", "b_default_c-3.log"])
    await unlinkLogsOfPod(context, b.pod)
    // then
    expect(await links()).toEqual(["b_default_c-3.log"])
  })

  test("of pods with long names cannot take the place of one in another namespace", async () => {
    // given a pod whose link has a name without its namespace
    const { context, started, files, lines } = given()
    const name = "n".repeat(253)
    const first = started(name, "1", "victim")
    await linkLog(context, first)
    // when another has the same
    const second = started(name, "2", "attacker")
    await linkLog(context, second)
    await unlinkLog(context, second)
    // then
    expect(files.get(`${LINKS}/${linkName(first)}`)).toBe(first.logPath)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain("whose name is taken")
  })

  test("whose log is gone give way to one of the same name", async () => {
    // given a link that was left behind
    const { context, run, started, files, lines } = given()
    const name = "n".repeat(253)
    const gone = run(name, "1", "earlier")
    await files.link(LINKS, linkName(gone), gone.logPath)
    // when
    const now = started(name, "2", "later")
    await linkLog(context, now)
    // then
    expect(files.get(`${LINKS}/${linkName(now)}`)).toBe(now.logPath)
    expect(lines).toEqual([])
  })

  test("are repaired: missing ones are made, those of lost logs removed, and nothing else is touched", async () => {
    // given a log without a link, and links of what is not there
    const { context, files, started, run, links } = given()
    const [running, others] = [started("a", "1"), started("other-kubelets", "2")]
    const [lost, rotating] = [run("lost", "3"), run("rotating", "4")]
    files.put(`${rotating.logPath}.20261120-101500`, "x")
    for (const one of [others, lost, rotating]) await files.link(LINKS, linkName(one), one.logPath)
    await files.link(LINKS, "theirs.log", "/somewhere/else")
    // when
    await repairLinks(context, () => [running])
    // then
    expect((await links()).toSorted()).toEqual(
      [linkName(running), linkName(others), linkName(rotating), "theirs.log"].toSorted(),
    )
  })
})
