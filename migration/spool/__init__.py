"""The queue files of migrating jobs, one record a line, and the drop box in which users leave submissions."""
