import { expect, test } from "bun:test"
import type { Agent } from "node:https"
import { Agents } from "./agents.ts"

/** Records in `ended` when the agent is destroyed. */
const watched = (agent: Agent, ended: string[], name: string): Agent => {
  const { destroy } = agent
  agent.destroy = () => {
    ended.push(name)
    destroy.call(agent)
  }
  return agent
}

test("the least recently used connection pool is evicted at the 201st target, and its connections end after their calls", async () => {
  // given a call under way, and as many places again as are kept
  const agents = new Agents()
  const ended: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const underWay = agents.use({ host: "busy", caBundle: "" }, (agent) => {
    watched(agent, ended, "busy")
    return promise
  })
  await agents.use({ host: "idle", caBundle: "" }, (agent) => Promise.resolve(watched(agent, ended, "idle")))
  // when
  for (let i = 0; i < 200; i++) await agents.use({ host: `place-${i}`, caBundle: "" }, () => Promise.resolve())
  // then
  expect(ended).toEqual(["idle"])
  resolve()
  await underWay
  expect(ended).toEqual(["idle", "busy"])
})

test("a target's connections are kept while it is called again", async () => {
  const agents = new Agents()
  const ofPlace = () => agents.use({ host: "place", caBundle: "" }, (agent) => Promise.resolve(agent))
  const first = await ofPlace()
  for (let i = 0; i < 500; i++) {
    await agents.use({ host: `other-${i}`, caBundle: "" }, () => Promise.resolve())
    expect(await ofPlace()).toBe(first)
  }
})
