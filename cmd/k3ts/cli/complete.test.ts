import { expect, test } from "bun:test"
import { COMMANDS } from "../commands/commands.ts"
import { OPTIONAL_PARTS } from "../config/server-flags.ts"
import { complete } from "./complete.ts"

test.each<[string, string[], boolean]>([
  ["ser", ["server"], false],
  [
    "server --disable-",
    ["--disable-admission-plugins", "--disable-snapshots", "--disable-default-registry-endpoint", "--disable-agent"],
    false,
  ],
  ["server --disable ", [...OPTIONAL_PARTS], false],
  ["server --disable k", ["kube-proxy"], false],
  ["server --log-format=j", ["--log-format=json"], false],
  ["server --proxy-mode=n", ["--proxy-mode=nftables"], false],
  ["server --data-dir ", [], true],
  ["server --debug --log-f", ["--log-format"], false],
  ["images ", ["import", "list", "remove", "export"], false],
  ["images import ", [], true],
  ["images list --out", ["--output"], false],
  ["token --data", ["--data-dir"], false],
  ["token c", ["create"], false],
  ["completion ", ["bash", "zsh", "fish"], false],
  ["nonsense ", [], false],
])("completion after `k3ts %s` offers %j", async (line, words, files) => {
  const found = await complete(
    line.split(" "),
    COMMANDS.map(({ name }) => name),
    async (name) => (await COMMANDS.find((entry) => entry.name === name)?.load())?.default,
  )
  expect(found).toEqual({ words, files })
})
