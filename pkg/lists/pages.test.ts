import { describe, expect, test } from "bun:test"
import { Pages } from "./pages.ts"

/** Reads a list whose pages are those of a function; returns how many objects it had. */
function readAll(page: (token: string) => { readonly token?: string; readonly objects: number }): number {
  const pages = new Pages()
  let all = 0
  for (;;) {
    const { token, objects } = page(pages.token)
    all += objects
    if (!pages.hasMore(token, objects, "pods")) return all
  }
}

describe("the pages of a list", () => {
  test("are followed to the last one", () => {
    expect(readAll((token) => (token === "c" ? { objects: 1 } : { token: token === "" ? "b" : "c", objects: 2 }))).toBe(
      5,
    )
  })

  test("may be empty in between, as of a server that filters", () => {
    const page = (token: string) => ({
      objects: 0,
      ...(Number(token) < 50 ? { token: String(Number(token) + 1) } : {}),
    })
    expect(readAll(page)).toBe(0)
  })

  test.each<[string, (token: string) => { readonly token: string; readonly objects: number }]>([
    ["the same page again and again", () => ({ token: "a", objects: 1 })],
    ["ever another page without objects", (token) => ({ token: `${token}a`, objects: 0 })],
    ["ever another page with an object", (token) => ({ token: String(Number(token) + 1), objects: 1 })],
  ])("are refused where a server sends %s", (_, page) => {
    expect(() => readAll(page)).toThrow("the server does not come to the end of its list of pods")
  })
})
