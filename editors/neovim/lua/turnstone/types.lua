---@meta
-- The messages of docs/protocol.md, and what the user may configure.

---@class turnstone.UserConfig
---@field cmd? string[] the server's command
---@field env? table<string, string> added to the server's environment
---@field root_markers? string[] what marks the workspace's folder
---@field trusted? boolean|fun(root: string): boolean whether AGENTS.md of the workspace is read as instructions
---@field init_options? table<string, any> settings for the server, over its own files
---@field chat? { width?: number, prompt_height?: integer }
---@field review? { keys?: boolean, jump?: boolean, max_lines?: integer }
---@field approvals? { max_height?: number, inert_ms?: integer }
---@field context? { debounce_ms?: integer }

---@class turnstone.Config
---@field cmd string[]
---@field env table<string, string>
---@field root_markers string[]
---@field trusted boolean|(fun(root: string): boolean)|nil
---@field init_options table<string, any>
---@field chat { width: number, prompt_height: integer }
---@field review { keys: boolean, jump: boolean, max_lines: integer }
---@field approvals { max_height: number, inert_ms: integer }
---@field context { debounce_ms: integer }

---@class turnstone.WireHunk one hunk, lines from 0; texts keep their line ends
---@field start integer
---@field end integer
---@field newStart integer
---@field old string[]
---@field new string[]

---@class turnstone.WireFile the FileChange record
---@field promptId string
---@field uri string
---@field path string
---@field display string
---@field isNew boolean
---@field baseText string
---@field newText string
---@field hunks turnstone.WireHunk[]
---@field eol string
---@field encoding string
---@field reasons string[]
---@field notes string[]

---@class turnstone.Hunk a hunk as it stands in a buffer; rows from 0, the end exclusive
---@field indexes integer[] the server's indexes that it stands for
---@field base_row integer
---@field row integer
---@field stop integer
---@field old string[]
---@field new string[]
---@field decision 'accepted'|'rejected'|nil
---@field conflict boolean

---@class turnstone.File one file under review
---@field wire turnstone.WireFile
---@field batch turnstone.Batch
---@field buf integer?
---@field scratch boolean the buffer is a copy: the server applies what is accepted
---@field hunks turnstone.Hunk[]
---@field answer table? its part of the answer, once it is decided
---@field feedback string?
---@field applying boolean
---@field attached table<integer, boolean>
---@field proposal integer? the buffer of the side by side view
---@field drawing boolean?
---@field all boolean? an empty new file was accepted

---@class turnstone.Batch one turnstone/reviewEdits request
---@field files turnstone.File[]
---@field reply fun(result: table)
---@field detached boolean? the server that asked is gone

---@class turnstone.Choice
---@field key string a letter
---@field label string
---@field answer table|fun(done: fun(answer: any)) the answer, or a function that finds it out

---@class turnstone.Question one entry of the queue
---@field id string
---@field title string
---@field lines string[]
---@field choices turnstone.Choice[]
---@field filetype string?
---@field reply fun(answer: any)
