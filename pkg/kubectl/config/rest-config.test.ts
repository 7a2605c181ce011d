import { expect, test } from "bun:test"
import { shownUrl, usualPortIn } from "./rest-config.ts"

test.each([
  ["https://a:443", "https://a:443/api"],
  ["https://a:443/", "https://a:443/api"],
  ["https://[::1]:443", "https://[::1]:443/api"],
  ["http://a:80", "http://a:80/api"],
  ["a:80", "http://a:80/api"],
  ["https://a", "https://a/api"],
  ["https://a:6443", "https://a:6443/api"],
  ["https://a:80", "https://a:80/api"],
  ["http://a:443", "http://a:443/api"],
])("requests to %s are shown as %s, with the port that is configured", (server, shown) => {
  const url = new URL("/api", server.includes("//") ? server : `http://${server}`)
  expect(shownUrl(url, usualPortIn(server))).toBe(shown)
})
