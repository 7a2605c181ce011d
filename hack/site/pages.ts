/** The pages of the documentation, in the order of their table of contents. */
export interface Page {
  /** The Markdown file, from the top of the tree. */
  readonly source: string
  /** Its name in the table of contents. */
  readonly title: string
}

export interface Part {
  readonly title: string
  readonly pages: readonly Page[]
}

const docs = (name: string, title: string): Page => ({ source: `docs/${name}.md`, title })

export const PARTS: readonly Part[] = [
  {
    title: "Begin",
    pages: [
      { source: "README.md", title: "k3ts" },
      docs("tour", "A tour in five minutes"),
      docs("install", "Install"),
      docs("k3s", "Coming from k3s"),
      docs("reference", "Commands and flags"),
    ],
  },
  {
    title: "Run",
    pages: [
      docs("kubectl", "kubectl"),
      docs("why", "Why something is not well"),
      docs("agents", "More machines"),
      docs("servers", "Several servers"),
      docs("scheduler", "The scheduler, and plugins of one's own"),
      docs("ingress", "Ingress"),
      docs("gateway", "Gateway API"),
      docs("dns", "DNS"),
      docs("network", "Network of pods"),
      docs("history", "What was: history and earlier states"),
      docs("what-if", "What if: a copy to try things in"),
      docs("replay", "Record and replay"),
      docs("backup", "Backup and recovery"),
      docs("datastore", "SQLite, or a store for several servers"),
      docs("upgrade", "Upgrades, certificates, keys"),
      docs("observability", "Metrics, traces, logs"),
      docs("sign-in", "Sign-in, and who decides"),
      docs("security", "Security"),
      docs("hardening", "Hardening"),
      docs("troubleshooting", "Troubleshooting"),
    ],
  },
  { title: "Test", pages: [docs("testing", "Clusters in tests")] },
  {
    title: "Know",
    pages: [
      docs("compatibility", "Compatibility"),
      docs("ecosystem", "What people install"),
      docs("architecture", "Architecture"),
      docs("writing", "How we write"),
      docs("release", "Releases"),
      { source: "CHANGELOG.md", title: "Changelog" },
    ],
  },
]

export const PAGES: readonly Page[] = PARTS.flatMap(({ pages }) => pages)

/** Returns the HTML file of a page: `docs/dns.md` is `dns.html`, and the README is `index.html`. */
export const htmlOf = (source: string): string =>
  source === "README.md"
    ? "index.html"
    : `${source
        .replace(/^docs\//, "")
        .replace(/\.md$/, "")
        .toLowerCase()}.html`
