import { expect, test } from "bun:test"
import { NodeConnectors, type NodeConnector } from "./node-connector.ts"

test("a connector that is registered late is made when it is needed, until another replaces it or it is removed", () => {
  // given
  const connectors = new NodeConnectors()
  const connector = {} as NodeConnector
  let made = 0
  const remove = connectors.registerLate("n1", () => {
    made++
    return connector
  })
  expect(made).toBe(0)
  // then
  expect(connectors.get("n1")).toBe(connector)
  expect(made).toBe(1)
  // when another kubelet of the node replaces it
  const other = {} as NodeConnector
  const removeOther = connectors.register("n1", other)
  remove()
  expect(connectors.get("n1")).toBe(other)
  removeOther()
  expect(connectors.get("n1")).toBeUndefined()
})
